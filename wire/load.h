/*
 * The words with which orchestrator/crew/program.c starts mpsweep-load in front of a server's own
 * command: "--request 'POST URL' ... -- COMMAND".
 */
#pragma once

#define LOAD_PROGRAM "mpsweep-load"

#define LOAD_REQUEST "request"
#define LOAD_READY "ready"
#define LOAD_HEADER "header"
#define LOAD_BODY "body"
#define LOAD_BODIES "bodies"
#define LOAD_EXPECT "expect"
#define LOAD_TIMEOUT "timeout-ns"
#define LOAD_ARRIVALS "arrivals"
