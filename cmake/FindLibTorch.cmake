# LibTorch as PyPI's torch wheel holds it, linked by library name. The package's own CMake files drag
# in all of CUDA, which a machine without a GPU does not have.
#
# Looks at MYXTTS_LIBTORCH (the folder that holds include/ and lib/), then at the folders that LibTorch_PLACES
# lists. Gives LibTorch::cpu and LibTorch::cuda.

set(MYXTTS_LIBTORCH "" CACHE PATH "An existing LibTorch: the folder that holds include/ and lib/")

find_path(LibTorch_INCLUDE_DIR torch/headeronly/version.h
  HINTS "${MYXTTS_LIBTORCH}" ${LibTorch_PLACES} PATH_SUFFIXES include
  NO_DEFAULT_PATH)
find_library(LibTorch_CPU_LIBRARY torch_cpu
  HINTS "${MYXTTS_LIBTORCH}" ${LibTorch_PLACES} PATH_SUFFIXES lib
  NO_DEFAULT_PATH)
if(LibTorch_INCLUDE_DIR)
  file(STRINGS "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h" version_line REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX MATCHALL "[0-9]+" version_parts "${version_line}")
  list(JOIN version_parts "." LibTorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "run tools/setup, or set MYXTTS_LIBTORCH")

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  get_filename_component(LibTorch_LIBRARY_DIR "${LibTorch_CPU_LIBRARY}" DIRECTORY)

  add_library(LibTorch::cpu INTERFACE IMPORTED)
  target_include_directories(LibTorch::cpu SYSTEM INTERFACE
    "${LibTorch_INCLUDE_DIR}" "${LibTorch_INCLUDE_DIR}/torch/csrc/api/include")
  # The wheel's folder holds headers of its own fmt, newer than the system's and without a library: torch_fmt.cpp
  # compiles it, into libmyxtts.so.
  target_link_libraries(LibTorch::cpu INTERFACE
    "${LibTorch_CPU_LIBRARY}" "${LibTorch_LIBRARY_DIR}/libc10.so")
  # libtorch_cpu.so names CUDA's runtime; the loader finds it beside the wheel, the linker need not.
  target_link_options(LibTorch::cpu INTERFACE LINKER:--allow-shlib-undefined)

  add_library(LibTorch::cuda INTERFACE IMPORTED)
  target_link_libraries(LibTorch::cuda INTERFACE LibTorch::cpu
    "${LibTorch_LIBRARY_DIR}/libtorch_cuda.so" "${LibTorch_LIBRARY_DIR}/libc10_cuda.so")
  # Nothing of ours names a symbol of libtorch_cuda.so that the linker would keep it for.
  target_link_options(LibTorch::cuda INTERFACE LINKER:--no-as-needed)
endif()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY)
