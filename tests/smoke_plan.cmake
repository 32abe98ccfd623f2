# Runs a study with small agents and a few epochs and writes its report, which must have every cell and every figure.
#   cmake -DOVDE=program -DPLAN=file.toml -DOUT=folder -P smoke_plan.cmake
file(REMOVE_RECURSE ${OUT})
foreach(action IN ITEMS run report)
  set(smoke "")
  if(action STREQUAL run)
    set(smoke --smoke)
  endif()
  execute_process(COMMAND ${OVDE} study ${action} ${PLAN} --out ${OUT} ${smoke}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "study ${action}: ${result}\n${output}")
  endif()
endforeach()
file(READ ${OUT}/report.html page)
if(page MATCHES "Not run|not run|Left out|maps of")
  message(FATAL_ERROR "${OUT}/report.html: something is missing: ${CMAKE_MATCH_0}")
endif()
file(REMOVE_RECURSE ${OUT})
