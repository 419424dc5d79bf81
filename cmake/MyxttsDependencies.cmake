# Every library the project is built on, in one place. tools/setup installs them all.

find_program(MYXTTS_CCACHE ccache)
if(MYXTTS_CCACHE)
  # The sloppiness is what ccache asks for to work with a precompiled header. Paths count from the checkout, so that
  # every clone and worktree shares what another has compiled.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_PCH_EXTSUM=1 CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${MYXTTS_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(EXPAT REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc i18n)
find_package(PkgConfig REQUIRED)
pkg_check_modules(sndfile REQUIRED IMPORTED_TARGET sndfile)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)

# MeCab comes without a package file.
find_library(MECAB_LIBRARY mecab REQUIRED)
find_path(MECAB_INCLUDE_DIR mecab.h REQUIRED)
add_library(Mecab::mecab UNKNOWN IMPORTED)
set_target_properties(Mecab::mecab PROPERTIES
  IMPORTED_LOCATION "${MECAB_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${MECAB_INCLUDE_DIR}")

if(MYXTTS_TORCH)
  find_package(CLI11 REQUIRED)
  set(LibTorch_PLACES "${PROJECT_SOURCE_DIR}/.deps/libtorch/torch")  # where tools/setup unpacks it
  find_package(LibTorch 2.11 REQUIRED)
endif()
if(MYXTTS_TESTS)
  find_package(GTest REQUIRED)
endif()
