include(GoogleTest)

# myxtts_unity(TARGET ROOT): the files of the target are compiled ten at a time, as most of the time goes into the headers
# they share. A batch names its files from ROOT, an include folder, so that ccache knows it in every checkout. Files with
# options of their own are compiled alone; set their options before this is called.
function(myxtts_unity target root)
  if(NOT MYXTTS_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(compiled)
  set(names)
  foreach(source IN LISTS sources)
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    if(options OR definitions)
      list(APPEND compiled "${source}")
      continue()
    endif()
    file(REAL_PATH "${source}" path)
    file(RELATIVE_PATH name "${root}" "${path}")
    list(APPEND names "${name}")
  endforeach()
  if(NOT names)
    return()
  endif()
  list(LENGTH names count)
  math(EXPR last "${count} - 1")
  foreach(first RANGE 0 ${last} 10)
    list(SUBLIST names ${first} 10 batch)
    list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"")
    list(JOIN batch "\n" text)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_batches/from_${first}.cpp")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text}\n" @ONLY)
    list(APPEND compiled "${file}")
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${compiled}")
endfunction()

# What every target of ours is compiled with. Third-party headers come in as SYSTEM.
add_library(myxtts_settings INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # clang, which tools/fuzz takes, warns of other things
  target_compile_options(myxtts_settings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Werror)
  if(MYXTTS_UNITY)
    # In a batch a local name may be that of another file's function, and the compiler takes each file for a header, in
    # which types of an unnamed namespace would be a mistake. A build with MYXTTS_UNITY=OFF warns of all shadowing.
    target_compile_options(myxtts_settings INTERFACE -Wshadow=local -Wno-subobject-linkage)
  else()
    target_compile_options(myxtts_settings INTERFACE -Wshadow)
  endif()
endif()
target_include_directories(myxtts_settings INTERFACE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(myxtts_settings INTERFACE fmt::fmt Threads::Threads)
if(MYXTTS_SANITIZE)
  target_compile_options(myxtts_settings INTERFACE -fsanitize=${MYXTTS_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(myxtts_settings INTERFACE -fsanitize=${MYXTTS_SANITIZE})
endif()

# Headers that nearly every file reads are compiled once: the standard library's and fmt's for code without
# LibTorch, GoogleTest's with them for its tests, LibTorch's for code that computes with tensors.
add_library(myxtts_common_headers OBJECT "${PROJECT_SOURCE_DIR}/cmake/common_headers.cpp")
target_link_libraries(myxtts_common_headers PUBLIC myxtts_settings)
target_precompile_headers(myxtts_common_headers PRIVATE "${PROJECT_SOURCE_DIR}/cmake/common_headers.h")
if(MYXTTS_TESTS)
  # Tests are not optimised: they compute for seconds and would be compiled for minutes.
  add_library(myxtts_test_settings INTERFACE)
  target_link_libraries(myxtts_test_settings INTERFACE myxtts_settings GTest::gtest)
  target_compile_options(myxtts_test_settings INTERFACE -O0)
  target_include_directories(myxtts_test_settings INTERFACE "${PROJECT_SOURCE_DIR}/tests")
  add_library(myxtts_test_headers OBJECT "${PROJECT_SOURCE_DIR}/cmake/test_headers.cpp")
  target_link_libraries(myxtts_test_headers PUBLIC myxtts_test_settings)
  target_precompile_headers(myxtts_test_headers PRIVATE "${PROJECT_SOURCE_DIR}/cmake/test_headers.h")
endif()
if(MYXTTS_TORCH)
  add_library(myxtts_torch_fmt OBJECT "${PROJECT_SOURCE_DIR}/cmake/torch_fmt.cpp")
  target_link_libraries(myxtts_torch_fmt PRIVATE LibTorch::cpu)
  set_property(GLOBAL APPEND PROPERTY MYXTTS_OBJECTS myxtts_torch_fmt)
  add_library(myxtts_torch_headers OBJECT "${PROJECT_SOURCE_DIR}/cmake/torch_headers.cpp")
  target_link_libraries(myxtts_torch_headers PUBLIC myxtts_settings LibTorch::cpu)
  target_precompile_headers(myxtts_torch_headers PRIVATE "${PROJECT_SOURCE_DIR}/cmake/torch_headers.h")
endif()
if(MYXTTS_TESTS AND MYXTTS_TORCH)
  add_library(myxtts_torch_test_headers OBJECT "${PROJECT_SOURCE_DIR}/cmake/torch_test_headers.cpp")
  target_link_libraries(myxtts_torch_test_headers PUBLIC myxtts_test_settings LibTorch::cpu)
  target_precompile_headers(myxtts_torch_test_headers PRIVATE "${PROJECT_SOURCE_DIR}/cmake/torch_test_headers.h")
endif()

# myxtts_module(NAME [SOURCES ...] [TORCH_SOURCES ...] [LINK ...])
#
# The objects of one folder of src/, for libmyxtts.so: the program, the tests and the CUDA plugin all
# link that one library, so there is one registry. What a module may use follows src/LAYERS, so the
# build and tools/check_layers.py obey one file. TORCH_SOURCES see LibTorch and are left out of builds
# with MYXTTS_TORCH=OFF. LINK is for third-party libraries.
function(myxtts_module name)
  cmake_parse_arguments(PARSE_ARGV 1 module "" "" "SOURCES;TORCH_SOURCES;LINK")
  file(STRINGS "${PROJECT_SOURCE_DIR}/src/LAYERS" line REGEX "^${name}:")
  if(NOT line)
    message(FATAL_ERROR "src/LAYERS has no line for the module ${name}")
  endif()

  if(module_SOURCES)
    add_library(myxtts_${name} OBJECT ${module_SOURCES})
    target_link_libraries(myxtts_${name} PRIVATE myxtts_settings ${module_LINK})
    target_precompile_headers(myxtts_${name} REUSE_FROM myxtts_common_headers)
    myxtts_unity(myxtts_${name} "${PROJECT_SOURCE_DIR}/src")
    set_property(GLOBAL APPEND PROPERTY MYXTTS_OBJECTS myxtts_${name})
  endif()
  if(module_TORCH_SOURCES AND MYXTTS_TORCH)
    add_library(myxtts_${name}_torch OBJECT ${module_TORCH_SOURCES})
    target_link_libraries(myxtts_${name}_torch PRIVATE myxtts_settings LibTorch::cpu ${module_LINK})
    target_precompile_headers(myxtts_${name}_torch REUSE_FROM myxtts_torch_headers)
    myxtts_unity(myxtts_${name}_torch "${PROJECT_SOURCE_DIR}/src")
    set_property(GLOBAL APPEND PROPERTY MYXTTS_OBJECTS myxtts_${name}_torch)
  endif()
  set_property(GLOBAL APPEND PROPERTY MYXTTS_LINK ${module_LINK})
endfunction()

# myxtts_page(CONSTANT SCRIPT...)
#
# A page of the module is written in several files in page/ and put together here: page.html with page.css and the scripts
# page/SCRIPT.js in this order; `language` is one that all pages share. The generated page.cpp, which the module lists among
# its sources, holds it whole as myxtts::CONSTANT, a std::string_view.
function(myxtts_page constant)
  list(TRANSFORM ARGN REPLACE "(.+)" "page/\\1.js" OUTPUT_VARIABLE scripts)
  list(TRANSFORM scripts REPLACE "^page/language.js$" "${PROJECT_SOURCE_DIR}/cmake/page/language.js")
  foreach(script IN LISTS scripts)
    file(READ ${script} text)
    string(APPEND MYXTTS_PAGE_SCRIPT "${text}\n")
  endforeach()
  file(READ page/page.css MYXTTS_PAGE_STYLE)
  file(READ page/page.html page)
  string(CONFIGURE "${page}" MYXTTS_PAGE @ONLY)
  set(MYXTTS_PAGE_CONSTANT ${constant})
  configure_file("${PROJECT_SOURCE_DIR}/cmake/page/page.cpp.in" "${CMAKE_CURRENT_BINARY_DIR}/page.cpp" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scripts} page/page.css page/page.html)
endfunction()

# myxtts_test(MODULE [SOURCES ...] [TORCH_SOURCES ...])
#
# One binary for each module and kind, one CTest entry for each binary: loading LibTorch takes longer than most cases.
# The cases of a run are in Testing/cases/.
function(myxtts_test module)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "" "SOURCES;TORCH_SOURCES;LINK")
  set(support "${PROJECT_SOURCE_DIR}/tests")

  foreach(kind IN ITEMS "" "_torch")
    if(kind STREQUAL "")
      set(sources ${test_SOURCES})
      set(main GTest::gtest_main)
    elseif(MYXTTS_TORCH)
      set(sources ${test_TORCH_SOURCES})
      set(main GTest::gtest)  # the support has one that seeds LibTorch
    else()
      set(sources)
    endif()
    if(NOT sources)
      continue()
    endif()
    # Objects first, as position-independent code: that is what the precompiled header was made for.
    add_library(${module}${kind}_test_objects OBJECT ${sources})
    target_link_libraries(${module}${kind}_test_objects PRIVATE myxtts_test_settings ${test_LINK})
    if(kind)
      target_link_libraries(${module}${kind}_test_objects PRIVATE LibTorch::cpu)
      target_precompile_headers(${module}${kind}_test_objects REUSE_FROM myxtts_torch_test_headers)
    else()
      target_precompile_headers(${module}${kind}_test_objects REUSE_FROM myxtts_test_headers)
    endif()
    myxtts_unity(${module}${kind}_test_objects "${PROJECT_SOURCE_DIR}/tests")
    add_executable(${module}${kind}_test)
    target_link_libraries(${module}${kind}_test PRIVATE ${module}${kind}_test_objects myxtts${kind}_test_support myxtts
      ${main} ${test_LINK})
    add_test(NAME ${module}${kind}_test COMMAND ${module}${kind}_test
      --gtest_output=xml:${PROJECT_BINARY_DIR}/Testing/cases/${module}${kind}_test.xml)
    set_tests_properties(${module}${kind}_test PROPERTIES TIMEOUT 900 LABELS ${module}
      ENVIRONMENT "MYXTTS_TEST_DATA=${support}")
  endforeach()
endfunction()

# myxtts_plugin_test(MODULE SOURCE ...)
#
# MODULE_cuda_test opens the CUDA plugin as the program does. One entry, which is skipped where there is no GPU.
function(myxtts_plugin_test module)
  if(NOT MYXTTS_BUILD_CUDA)
    return()
  endif()
  set(test ${module}_cuda_test)
  add_library(${test}_objects OBJECT ${ARGN})
  target_link_libraries(${test}_objects PRIVATE myxtts_test_settings LibTorch::cpu)
  target_precompile_headers(${test}_objects REUSE_FROM myxtts_torch_test_headers)
  myxtts_unity(${test}_objects "${PROJECT_SOURCE_DIR}/tests")
  add_executable(${test})
  target_link_libraries(${test} PRIVATE ${test}_objects myxtts_torch_test_support myxtts GTest::gtest)
  add_dependencies(${test} myxtts_cuda)
  add_test(NAME ${test} COMMAND ${test})
  set_tests_properties(${test} PROPERTIES TIMEOUT 300 LABELS "cuda;${module}"
    SKIP_REGULAR_EXPRESSION "no CUDA device here")
endfunction()
