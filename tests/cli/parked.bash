# Sweeps that are held up between their first point and the second one, while their processes are
# parked.

has_lines() { [ "$(wc -l <r.jsonl)" -ge "$1" ]; } 2>/dev/null

# begin_parked OPTIONS...: a sweep of these points, in their order, that is held up between the first
# and the second one: its line about the first does not fit into the pipe that is its standard error.
# The processes have parked by then.
begin_parked() {
  mkfifo errors
  exec 8<>errors
  dd if=/dev/zero of=errors bs=4096 count=1000 oflag=nonblock 2>/dev/null || true
  env --default-signal=INT,HUP,TERM "$MPSWEEP" sweep --device emulated --duration 0.05 \
    --warmup 0.02 --precision 100 --rounds 1 --seed 0 -o r.jsonl "$@" >out 2>errors 3>&- 8>&- &
  PID=$!
  await $PATIENCE has_lines 2
  [ -n "$(workers_of "$PID")" ]
}

# Lets it continue; its later output has room.
let_go() { dd bs=65536 count=1 <&8 >/dev/null 2>&1; }

# Waits for its end; its output is in err.
finish_parked() {
  finish
  dd bs=65536 count=1 iflag=nonblock <&8 >err 2>/dev/null || true
  exec 8>&-
}

has_ended() { [ ! -e "/proc/$1" ] || is_zombie "$1"; }
