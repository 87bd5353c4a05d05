# Writes the file FROM, an HTML page with a place for its data, as the C array hwi_page_template into the file TO.
file(READ ${FROM} page)
if(NOT page MATCHES "<!--heapwright-data-->")
  message(FATAL_ERROR "${FROM} has no comment <!--heapwright-data-->, where its data is to stand")
endif()
file(READ ${FROM} digits HEX)
string(REGEX REPLACE "(................................)" "\\1\n" digits "${digits}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," digits "${digits}")
file(WRITE ${TO} "/* made from web/dist/page.html by cmake/Page.cmake */\nextern const char hwi_page_template[];\nconst char hwi_page_template[] = {\n${digits}0};\n")
