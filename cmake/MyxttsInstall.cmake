# What `cmake --install` puts where; tools/install is the way to it. Nothing that is installed names the
# build tree: the folder may be moved. LibTorch is looked for in PREFIX/libtorch and where the user says.
#
# Components: library (headers, libmyxtts.so, CMake package), program, cuda (the plugin), text (data).
include(CMakePackageConfigHelpers)

set(beside_libtorch "$ORIGIN/../lib:$ORIGIN/../libtorch/lib")
set(package_folder lib/cmake/myxtts)

set_target_properties(myxtts myxtts_program PROPERTIES INSTALL_RPATH "${beside_libtorch}")
install(TARGETS myxtts EXPORT myxtts-targets LIBRARY DESTINATION lib COMPONENT library INCLUDES DESTINATION include)
install(TARGETS myxtts_program RUNTIME DESTINATION bin COMPONENT program)
install(TARGETS myxtts LIBRARY DESTINATION lib COMPONENT program)
if(MYXTTS_BUILD_CUDA)
  set_target_properties(myxtts_cuda PROPERTIES INSTALL_RPATH "${beside_libtorch}")
  install(TARGETS myxtts_cuda LIBRARY DESTINATION lib COMPONENT cuda)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs/" DESTINATION share/myxtts/configs COMPONENT program)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/.deps/text/" DESTINATION share/myxtts/text COMPONENT text OPTIONAL
  PATTERN "*-info" EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/.deps/sound/" DESTINATION share/myxtts/sound COMPONENT program OPTIONAL
  PATTERN ".complete" EXCLUDE PATTERN "*-info" EXCLUDE)

install(EXPORT myxtts-targets NAMESPACE myxtts:: DESTINATION ${package_folder} COMPONENT library)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/myxtts-config.cmake.in"
  "${PROJECT_BINARY_DIR}/myxtts-config.cmake" INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/myxtts-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake"
  "${PROJECT_BINARY_DIR}/myxtts-config.cmake" "${PROJECT_BINARY_DIR}/myxtts-config-version.cmake"
  DESTINATION ${package_folder} COMPONENT library)

# Headers are found as <myxtts/MODULE/NAME.h>, so that a user's own base/ and config/ stay the user's.
# Ours name one another without the first folder, which is put in as they are copied.
file(STRINGS "${PROJECT_SOURCE_DIR}/src/LAYERS" modules REGEX "^[a-z_]+:")
list(TRANSFORM modules REPLACE ":.*" "")
list(REMOVE_ITEM modules cli)
list(JOIN modules "|" any_module)
set(copied_headers "${PROJECT_BINARY_DIR}/installed-headers")
install(CODE "
  file(REMOVE_RECURSE \"${copied_headers}\")
  file(GLOB_RECURSE headers RELATIVE \"${PROJECT_SOURCE_DIR}/src\" \"${PROJECT_SOURCE_DIR}/src/*.h\")
  list(FILTER headers EXCLUDE REGEX \"^cli/|/cuda/\")
  foreach(header IN LISTS headers)
    file(READ \"${PROJECT_SOURCE_DIR}/src/\${header}\" text)
    string(REGEX REPLACE \"(#include \\\")((${any_module})/)\" \"\\\\1myxtts/\\\\2\" text \"\${text}\")
    file(WRITE \"${copied_headers}/\${header}\" \"\${text}\")
  endforeach()" COMPONENT library)
install(DIRECTORY "${copied_headers}/" DESTINATION include/myxtts COMPONENT library)
