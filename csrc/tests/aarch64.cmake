# On AArch64 the recorder is built a second time as TinyCC sees it: what needs the CPU is then the machine code that the
# agent brings. It is assembled here twice, from the words and from the comments beside them, and the test compares.
set(routines ${CMAKE_CURRENT_BINARY_DIR}/routines.S)
set(agent_routines ${PROJECT_SOURCE_DIR}/agent/aarch64_routines.ts)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${agent_routines})
file(READ ${agent_routines} text)
string(REPLACE "[" "{" text "${text}") # lists of CMake are not split inside brackets
string(REPLACE "]" "}" text "${text}")
string(REGEX MATCHALL "strobe_[a-z0-9_]+: {|0x[0-9a-f]+, // [^\n]+" lines "${text}")
set(words "")
set(comments "")
foreach(line IN LISTS lines)
  if(line MATCHES "(strobe_[a-z0-9_]+):")
    string(APPEND words ".globl ${CMAKE_MATCH_1}\n${CMAKE_MATCH_1}:\n")
  elseif(line MATCHES "(0x[0-9a-f]+), // (.*)")
    string(APPEND words "    .inst ${CMAKE_MATCH_1}\n")
    string(APPEND comments "    ${CMAKE_MATCH_2}\n")
  endif()
endforeach()
string(REPLACE "{" "[" comments "${comments}")
string(REPLACE "}" "]" comments "${comments}")
file(CONFIGURE OUTPUT ${routines} @ONLY CONTENT [[
.text
.globl routine_words, routine_words_end, routine_comments, routine_comments_end
routine_words:
@words@
routine_words_end:
routine_comments:
@comments@
routine_comments_end:
.section .note.GNU-stack,"",@progbits
]])
enable_language(ASM)

add_library(strobe_recorder_portable STATIC ${recorder_sources} ${routines})
target_link_libraries(strobe_recorder_portable PUBLIC strobe_recipe)
set_source_files_properties(${recorder_sources} PROPERTIES LANGUAGE C)
target_compile_definitions(strobe_recorder_portable PRIVATE $<$<COMPILE_LANGUAGE:C>:__TINYC__>)
add_executable(recorder_portable_test recorder_test.cpp)
target_link_libraries(recorder_portable_test PRIVATE strobe_segment_writer strobe_recorder_portable)
add_executable(aarch64_test aarch64_test.cpp)
target_link_libraries(aarch64_test PRIVATE strobe_segment_writer strobe_recorder_portable)
foreach(name recorder_portable aarch64)
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endforeach()
