# discover_suites(TARGET [TIMEOUT SECONDS] [LABELS ...] [ENVIRONMENT ...])
#
# One CTest entry for each suite of a GoogleTest binary, found when it is built. A start of a binary takes a
# quarter of a second, in which LibTorch is loaded: with an entry for each of 1,800 cases that is a quarter of
# the time of all tests. Cases of a suite run one after another in one process, as they do where the binary is
# started by hand.
#
# Run as a script it writes the entries: cmake -DTARGET=... -DBINARY=... -DOUT=... -DPROPERTIES=... -P suites.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND "${BINARY}" --gtest_list_tests OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "\n[^ \n]+\\.[ \n]" suites "\n${listing}")
  set(lines "")
  foreach(suite IN LISTS suites)
    string(STRIP "${suite}" suite)
    string(REGEX REPLACE "\\.$" "" name "${TARGET}.${suite}")
    string(APPEND lines "add_test([=[${name}]=] [=[${BINARY}]=] [=[--gtest_filter=${suite}*]=])\n"
      "set_tests_properties([=[${name}]=] PROPERTIES ${PROPERTIES})\n")
  endforeach()
  file(WRITE "${OUT}" "${lines}")
  return()
endif()

set(MYXTTS_SUITES_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(discover_suites target)
  cmake_parse_arguments(PARSE_ARGV 1 suites "" "TIMEOUT" "LABELS;ENVIRONMENT")
  set(properties "TIMEOUT ${suites_TIMEOUT} LABELS [=[${suites_LABELS}]=] ENVIRONMENT [=[${suites_ENVIRONMENT}]=]")
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake")
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS "${out}" VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DTARGET=${target}" "-DBINARY=$<TARGET_FILE:${target}>" "-DOUT=${out}"
            "-DPROPERTIES=${properties}" -P "${MYXTTS_SUITES_SCRIPT}")
  # Before it is built, its tests fail by this one.
  file(CONFIGURE OUTPUT "${target}_include.cmake" CONTENT [=[
if(EXISTS "@out@")
  include("@out@")
else()
  add_test(@target@_NOT_BUILT @target@_NOT_BUILT)
endif()
]=] @ONLY)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake")
endfunction()
