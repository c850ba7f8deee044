# How a script has the daemon killed at a named point of its writing, by kill.c. Source it after
# support.sh.
#
# | point | the daemon ends |
# |---|---|
# | state-begun, cache-begun | before the last frame of a commit is written to the log |
# | state-torn, cache-torn | with half of that frame in the log |
# | state-written, cache-written | with all of it in the log, that of state.db not synced |
# | state-synced | when state.db's is synced, before anything else |
# | state-checkpoint, cache-checkpoint | before a page of the log is written back into the file |
# | step | before a sync, a rename or a removal in the state directory |
# shellcheck shell=bash
# What support.sh sets.
# shellcheck disable=SC2154

export KILL_PLAN=$work/kill-plan KILL_FOLDER=$work/state

compiler=$(command -v cc || command -v clang || command -v gcc)
if [[ -z $compiler ]]; then
    skip "kills at named points" "there is no C compiler to make them with"
    finish
fi
"$compiler" -shared -fPIC -o "$work/kill.so" Tests/scripts/kill.c \
    || give_up "what kills is made" "a library" "nothing"

# plan_kill POINT N [hold]: the N-th time from now on, see kill.c.
plan_kill() {
    drop_plan
    printf '%s' "$*" >"$KILL_PLAN.new"
    mv "$KILL_PLAN.new" "$KILL_PLAN"
}
drop_plan() {
    rm -f "$KILL_PLAN" "$KILL_PLAN".*
}
was_killed() {
    [[ -e $KILL_PLAN.done ]]
}

# Starts a daemon that heeds plans, and waits until it is ready, or killed by one that there is.
start_killable() {
    LD_PRELOAD=$work/kill.so "$bin/larderd" --config "$config" 2>>"$work/larderd.log" &
    daemon=$!
    # The shell would say that it was killed.
    { await 60 has_begun; } 2>/dev/null || give_up "the daemon starts, or is killed" "it is ready within 60 s" \
        "$(tail -n 5 "$work/larderd.log")"
    ! was_killed || wait_for_kill
}
has_begun() {
    was_killed || is_ready
}
wait_for_kill() {
    wait "$daemon" 2>/dev/null
    daemon=0
}

# each_time COMMAND...: at each of `points`, as often as it is come to: `COMMAND POINT N ...` says by
# `killed` whether it was.
each_time() {
    local point n
    # What `points` and `killed` are is the script's.
    # shellcheck disable=SC2154
    for point in "${points[@]}"; do
        for ((n = 1; n < 1000; n++)); do
            "$1" "$point" "$n" "${@:2}"
            [[ -n $killed ]] || break
        done
    done
}
