# Sourced by tools/run: `run_nodes PROGRAM NODETOOL CONFIG COUNT FOLDER FIRST`: COUNT nodes on loopback addresses from FIRST on, as
# one cluster. Node n keeps its configuration, data and logs below FOLDER/n; FOLDER/n/cassandra.yaml is made of CONFIG when it is
# not there. They start together, because none of them has data to stream: with auto_bootstrap: false, and with tokens that share
# the ring evenly.

tokens_of() { # of node $1 of $2, 16 of them: token i of m is -2^63 + 1 + i * 2^64 / m, in 64 bits that wrap
  local n=$1 count=$2 each=16 k i m high rest tokens=()
  m=$((count * each))
  for ((k = 0; k < each; k++)); do
    i=$((k * count + n - 1))
    high=$(((i << 32) / m))
    rest=$(((i << 32) % m))
    tokens+=($(((high << 32) + (rest << 32) / m + (1 << 63) + 1)))
  done
  local IFS=,
  echo "${tokens[*]}" | sed 's/,/, /g'
}

write_config() { # FILE CONFIG NODE COUNT ADDRESS SEED FOLDER
  local cores
  cores=$(nproc)
  {
    echo "# Node $3 of $4, written by tools/run --nodes; it is kept when you change it."
    # Without the keys that are set below, and what is indented below them.
    awk -v keys='num_tokens initial_token seed_provider rpc_address listen_address data_file_directories commitlog_directory hints_directory saved_caches_directory admin_address log_directory shards auto_bootstrap' '
      BEGIN { count = split(keys, list, " "); for (i = 1; i <= count; ++i) set[list[i]] = 1 }
      /^[A-Za-z_]/ { key = $0; sub(/:.*/, "", key); skip = key in set }
      /^[#[:space:]]*$/ || /^#/ { skip = 0 }
      !skip' "$2"
    cat <<TEXT

# This node's part of the cluster.
num_tokens: 16
initial_token: $(tokens_of "$3" "$4")
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "$6"
listen_address: $5
rpc_address: $5
admin_address: $5
auto_bootstrap: false
data_file_directories:
  - $7/data
commitlog_directory: $7/commitlog
hints_directory: $7/hints
saved_caches_directory: $7/saved_caches
log_directory: $7/logs
shards: $((cores > $4 ? cores / $4 : 1))
TEXT
  } > "$1"
}

# Says on descriptor 3 when a node ends, and leaves the others running. It returns when the last one has ended.
watch_nodes() { # PROGRAM FOLDER
  local program=$1 folder=$2 n
  while ((${#pids[@]} > 0)); do
    wait -n "${pids[@]}" || true
    for n in "${!pids[@]}"; do
      kill -0 "${pids[n]}" 2> /dev/null && continue
      unset "pids[n]"
      echo "Node $((n + 1)) has ended; its log is $folder/$((n + 1))/logs/system.log. To start it again, in another terminal:" >&3
      printf '  %q -c %q\n' "$(realpath "$program")" "$folder/$((n + 1))/cassandra.yaml" >&3
    done
  done
}

stop_nodes() {
  trap '' INT TERM
  kill -TERM "${pids[@]}" 2> /dev/null || true
  wait "${pids[@]}" 2> /dev/null || true
}

run_nodes() {
  local program=$1 nodetool=$2 config=$3 count=$4 folder=$5 first=$6 began n address home
  began=$(date +%s%N)
  folder=$(mkdir -p "$folder" && cd "$folder" && pwd)
  local addresses=()
  for ((n = 0; n < count; n++)); do addresses+=("${first%.*}.$((${first##*.} + n))"); done
  pids=()
  trap 'stop_nodes; exit 130' INT TERM
  for ((n = 1; n <= count; n++)); do
    home=$folder/$n
    address=${addresses[n - 1]}
    mkdir -p "$home"
    [[ -e $home/cassandra.yaml ]] || write_config "$home/cassandra.yaml" "$config" "$n" "$count" "$address" "$first" "$home"
    "$program" -c "$home/cassandra.yaml" < /dev/null > /dev/null &
    pids+=($!)
  done
  # Every node sees all of them.
  for address in "${addresses[@]}"; do
    until [[ $("$nodetool" -h "$address" status 2> /dev/null | grep -c '^UN ') == "$count" ]]; do
      for n in "${!pids[@]}"; do
        if ! kill -0 "${pids[n]}" 2> /dev/null; then
          echo "Node $((n + 1)) has ended; its log is $folder/$((n + 1))/logs/system.log" >&2
          stop_nodes
          exit 1
        fi
      done
      sleep 0.05
    done
  done
  echo "$count nodes are up after $((($(date +%s%N) - began) / 1000000)) ms; configuration, data and logs are below $folder"
  for address in "${addresses[@]}"; do echo "  cqlsh $address 9042        $nodetool -h $address status"; done
  exec 3>&2 2> /dev/null # the shell has a line of its own for each node that a signal ends
  echo "Ctrl-C stops all of them; nothing acknowledged is lost."
  watch_nodes "$program" "$folder"
  exit 1
}
