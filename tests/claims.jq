# What the expressions of docs/claims.tsv use. Their input is a results file: of .jsonl the array of
# its records, of .json its value, of .txt its text; of several files the array of those.

# -- numbers --------------------------------------------------------------------------------------

# Rounds to a multiple of a unit, as a text does that has 19,000 for 18,956.
def to($unit): (. / $unit | round) * $unit;
def mean: add / length;
def percent: 100 * .;
# By how many percent a value is above a base.
def above($base): 100 * (. / $base - 1);
# Seconds as minutes and seconds.
def minutes: round | (. / 60 | floor), . % 60;
# A value where a condition holds that the text claims in words.
def given(condition; $value): if condition then $value else error("the words do not hold") end;

# -- records --------------------------------------------------------------------------------------

def header: .[0];
def records($type): map(select(.type == $type));
def record($type): records($type) | last;
# A point may have several records, of which the last counts.
def points: records("point") | group_by(.id) | map(last);

# One word of a choice of points: a layout, P×T or P×T×S, `32q` for connections, or FIELD=VALUE.
def word_holds($word):
  if ["threads", "processes", "processes+mps", "threads+mps", "hybrid", "hybrid-timesliced"]
     | index($word) then .layout == $word
  elif ["stream", "graph"] | index($word) then .launch == $word
  elif ["pinned", "pageable"] | index($word) then .memory == $word
  elif $word == "sync" then .sync == "stream"
  elif $word == "nosync" then .sync == "none"
  elif ["auto", "spin", "yield", "block"] | index($word) then .schedule == $word
  elif $word | test("^[0-9]+q$") then .connections == ($word[:-1] | tonumber)
  elif $word | test("^[0-9]+x[0-9]+(x[0-9]+)?$") then
    [.processes, .threads, .streams // 1] == ($word | split("x") | map(tonumber) | .[2] //= 1)
  elif $word | test("=") then
    ($word | split("=")) as [$field, $value] | .[$field] | tostring == $value
  else error("'\($word)' chooses no points") end;

# All points for which each word of a choice holds.
def choose($words):
  reduce ($words | split(" ")[]) as $word (points; map(select(word_holds($word))));

# The only point of a choice. The usual value of what it leaves open counts where a point has it.
def usual(holds): map(select(holds)) as $usual | if $usual == [] then . else $usual end;
def one($words):
  choose($words)
  | if length > 1 then usual(.streams // 1 == 1) | usual(.launch == "stream") | usual(.memory == "pinned")
      | usual(.sync == "stream") | usual(.connections_default) | usual(.schedule == "auto")
      | usual(.contexts == null) | usual(.gpus == null) else . end
  | if length == 1 then .[0] else error("\(length) points are '\($words)'") end;

# -- one point ------------------------------------------------------------------------------------

def ips($words): one($words).throughput_ips;
# With the half width of the interval in percent.
def ips_half($words): one($words) | .throughput_ips, (.ci95_rel | percent);
# In milliseconds.
def p50($words): one($words).latency_us.p50 / 1000;
def p99($words): one($words).latency_us.p99 / 1000;
# CPUs in use, as readers take it from files without it.
def cpus($words): one($words) | .cpu.in_use // (.cpu.on_cpu * .processes * .threads * (.gpus // 1));
# In microseconds: the median of single launch calls; all launch calls of an iteration.
def call_us($words): one($words).phases.launch_call.p50;
def launch_us($words): one($words).phases.launch.mean;
# Of several rounds: the slowest and the fastest.
def extremes($words): one($words).rounds | map(.throughput_ips) | min, max;

# A row of the table that a sweep prints.
def table_row($words): ips_half($words), p50($words), p99($words), cpus($words),
  (one($words) | .fairness_jain, .telemetry.joules_per_iteration);
def rate_p99($words): ips($words), p99($words);
def host_row($words): rate_p99($words), cpus($words);
# Throughput, p99, launch calls of an iteration, and their percentage of the threads' time.
def stream_row($words):
  rate_p99($words), launch_us($words),
  (one($words) | .throughput_ips * .phases.launch.mean / 1e4 / .processes / .threads);

# -- several points -------------------------------------------------------------------------------

# By how many percent the fastest of some points is above the slowest.
def spread: map(.throughput_ips) | max as $most | min as $least | $most | above($least);
# Of a layout with pageable memory: the losses without a synchronisation before the copy out.
def nosync_losses($layout):
  [choose("\($layout) pageable sync")[] as $with
   | choose("\($layout) pageable nosync")[]
   | select([.processes, .threads] == [$with.processes, $with.threads])
   | 100 * (1 - .throughput_ips / $with.throughput_ips)];
# Of two files: the points that both have, as pairs; how many pairs agree within their intervals.
def pairs: map(points) | [.[0][] as $one | .[1][] | select(.id == $one.id) | [$one, .]];
def agrees: (.[0].throughput_ips - .[1].throughput_ips | fabs)
  <= .[0].throughput_ips * .[0].ci95_rel + .[1].throughput_ips * .[1].ci95_rel;
def agreement: pairs | map(select(agrees)) | length;
# Of two GPUs: the throughput with its interval, and the efficiency beside one GPU with its own.
def two_gpus($words; $gpus):
  one($words) as $single | one("\($words) \($gpus)")
  | (.throughput_ips / $single.throughput_ips / 2 | percent) as $efficiency
  | .throughput_ips, (.ci95_rel | percent), $efficiency,
    $efficiency * ([.ci95_rel, $single.ci95_rel] | map(. * .) | add | sqrt);
# Of h200-partitions-job.jsonl: requests/s, their p99 in ms, batches/s beside them.
def workload($name): .workloads[] | select(.name == $name);
def shared_row(choice):
  [points[] | select(choice)] | if length != 1 then error("\(length) points") else .[0] end
  | workload("online").throughput_ips, workload("online").latency_us.p99 / 1000,
    workload("batch").throughput_ips;
# Of h200-shares.jsonl: multiprocessors, iterations/s of each client and of both.
def tenants($shares):
  [points[] | select(.section == "multiprocessors" and .active_thread_percentage == $shares)][0]
  | [.clients[]?.sms] + [.per_worker[].ips] + [.throughput_ips];
# Of an open loop: p50 and p99 in ms at each offered load, and what the search found.
def open_row($layout):
  [points[] | select(.layout == $layout)] | sort_by(.rate.offered_ips)
  | (map(select(.rate.goal == null)) | .[] | .latency_us | .p50 / 1000, .p99 / 1000),
    (.[] | select(.rate.goal).rate.offered_ips);

# -- explain --------------------------------------------------------------------------------------

# The arithmetic ceiling of a calibration.
def arithmetic: record("calibration").arithmetic_ips;
# What explain prints of a point, and of one of its ceilings.
def explained($words): map(.type = "point") | one($words);
def ceiling($name): .ceilings[] | select(.name == $name).ips;
def predicted($words): explained($words).predicted_ips;
def reached($words): explained($words).reached | percent;
# Measured, predicted, the binding ceiling, how much of it is reached.
def explained_row($words):
  explained($words)
  | .throughput_ips, .predicted_ips, (.ceilings[] | select(.binding).ips), (.reached | percent);
# By how many percent a prediction is off: of a point, of a verified remedy.
def off_measured: .throughput_ips as $measured | .predicted_ips | above($measured);
def off_percent: .remedied_ips as $measured | .predicted_ips | above($measured);
# What --verify found of a point and of what limited it, and its row in a table.
def verified($what; $limit):
  records("verification")[] | select(.what == $what and .limited_by == $limit);
def verified_row($what; $limit):
  verified($what; $limit)
  | .baseline_ips, .remedied_ips, .gain, (.ci95_rel | percent), .predicted_ips, off_percent;

# -- tune -----------------------------------------------------------------------------------------

def naive($layout): record("tune").naive[] | select(.layout == $layout) | .throughput_ips;
# The winner with the interval of its rounds in percent; the naive layouts, or p99 and CPUs beside it.
def tune_winner:
  record("tune").winner as $winner
  | $winner.throughput_ips, (choose("id=\($winner.point)")[0].ci95_rel | percent);
def tune_row: tune_winner, record("tune").naive[].throughput_ips;
def tune_time_row: record("tune") | .winner.throughput_ips, .winner.p99_us / 1000, .seconds;
# And how many layouts were tried, how many of them were refused, and how long those took.
def refused_row: tune_time_row, record("tune").measured,
  (points | map(select(.status == "infeasible").seconds) | length, add);
def tune_cpus_row: tune_winner, (record("tune").winner | .p99_us / 1000, .cpus_in_use);
# Layouts that were not finalists, in percent of the winner; by how many percent the tied do less.
def beside_winner: record("tune").winner.throughput_ips as $best
  | [points[] | select(.tune.stage != "final" and .throughput_ips) | 100 * .throughput_ips / $best];
def tied_losses: record("tune") as $tune
  | [points[] | select(.id | IN($tune.tied[]))
     | 100 * (1 - .throughput_ips / $tune.winner.throughput_ips)];

# -- probes, limits -------------------------------------------------------------------------------

def probe($name): records("probe") | map(select(.probe == $name)) | last;
def arm($probe; $name): probe($probe).arms[] | select(.arm == $name);
# Of h200-limits.json: MPS clients with a number of connections each.
def limit($connections): .limits[0].rows[] | select(.connections == $connections).clients;

# -- texts ----------------------------------------------------------------------------------------

# The numbers in the first line that matches, after what matches.
def numbers_after($pattern):
  split("\n") | map(select(test($pattern))) | (.[0] // error("no line has '\($pattern)'"))
  | sub(".*?" + $pattern; "") | [scan("[0-9]+(?:\\.[0-9]+)?") | tonumber];
# Of the output of tests: how many there are, and how many ran and passed.
def tests: [scan("\n(?:not )?ok ")] | length;
def passed: [scan("\nok [^\n]*") | select(test("# skip") | not)] | length;
# Of the end of h200-bench.txt: seconds a point with reused and with fresh workers.
def reuse: sub(".*layout +PxT +points"; ""; "s") | [scan("([0-9.]+)s +([0-9.]+)s") | map(tonumber)];
# Of h200-turns.txt: iterations/s of threads on queues.
def turns($threads; $queues): numbers_after("^ +\($threads) +\($queues) +auto")[0];
# Of h200-strikes.txt: one of its runs, the seconds after each strike until all was clean, and how many
# points of struck sweeps have a number.
def run_of_strikes($number): split("\n# 2. ")[$number - 1];
def clean_seconds:
  [scan("\n +[0-9]+ (?:worker|guard|server|daemon|sweep|both) [^\n]* ([0-9.]+)(?:  not-clean)?(?=\n)")[0]
   | tonumber];
def struck_points: [scan("([0-9]+) struck,")[0] | tonumber] | add;

# -- processes that other points had before ---------------------------------------------------------

def rounds_ips($words): one($words).rounds | map(.throughput_ips);
# How the mean of some rounds compares with that of others, and half its 95% interval (Welch's, with
# Student's t of 10 degrees of freedom).
def over($others):
  def mean_variance: mean as $mean | map(. - $mean | . * .) | add / (length - 1) / length;
  (mean / ($others | mean)),
  (2.228 * (mean_variance + ($others | mean_variance) | sqrt) / ($others | mean));

# -- turns of processes -----------------------------------------------------------------------------

# Of a calibration: what an iteration of two processes in turns takes longer than one worker alone
# without its copies, in milliseconds.
def change_ms:
  1000 * (1 / (.runs[] | select((.mps | not) and .processes == 2).ips) - 1 / .single_stream_ips
    + 2 * .work.bytes / .both_bytes_per_s);
