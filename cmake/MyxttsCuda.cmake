# Decides whether the CUDA plugin is built, and for which GPUs. Sets MYXTTS_BUILD_CUDA.

option(MYXTTS_CUDA_ALL_ARCHITECTURES "Compile kernels for every GPU from Turing to Blackwell, as packages do" OFF)
set(MYXTTS_BUILD_CUDA OFF)

if(NOT MYXTTS_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "MYXTTS_CUDA is ${MYXTTS_CUDA}; allowed are AUTO, ON and OFF.")
endif()
if(MYXTTS_CUDA STREQUAL "OFF" OR NOT MYXTTS_TORCH)
  return()
endif()

find_program(MYXTTS_NVCC nvcc
  HINTS "$ENV{CUDACXX}" "$ENV{CUDA_HOME}/bin" "${PROJECT_SOURCE_DIR}/.deps/libtorch/nvidia/cu13/bin" /usr/local/cuda/bin)
if(NOT MYXTTS_NVCC)
  if(MYXTTS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "MYXTTS_CUDA=ON, but there is no nvcc on PATH, in CUDA_HOME/bin or /usr/local/cuda/bin. "
      "Run tools/setup, give -DMYXTTS_NVCC=/path/to/nvcc, or build without the plugin: -DMYXTTS_CUDA=OFF.")
  endif()
  message(STATUS "No nvcc: the CUDA plugin is not built (MYXTTS_CUDA=AUTO)")
  return()
endif()

if(MYXTTS_CUDA_ALL_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 120-real 120-virtual)
elseif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # A developer's build takes one: this machine's own, else Hopper.
  if(EXISTS /dev/nvidiactl)
    set(CMAKE_CUDA_ARCHITECTURES native)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 90-real)
  endif()
endif()
set(CMAKE_CUDA_COMPILER "${MYXTTS_NVCC}")
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc can
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(MYXTTS_BUILD_CUDA ON)
message(STATUS "CUDA plugin: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
