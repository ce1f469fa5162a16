# shellcheck shell=sh disable=SC2034
name={{name}}
processes={{processes}}
mps={{#mps}}yes{{/mps}}{{^mps}}no{{/mps}}
daemons={{daemon_count}}
