#!/usr/bin/env bash
# Origins that cut off what they send, and those that close what is connected to them: whose fault it
# is said to be, and how often they are connected to.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

# The URLs of the origin that closes in the middle; each connection is a line of `connections`.
start_cutter() {
    port=$(free_port)
    origin=http://127.0.0.1:$port
    : >"$work/connections"
    perl -MIO::Socket::INET -e '
        $| = 1;
        my ($port, $log) = @ARGV;
        my %asked;
        my $part = "x" x 1000;
        my %answers = (
            length => "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n$part",
            chunked => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n$part\r\n",
            large => "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" . $part x 2000,
            whole => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nwhole",
        );
        # Without a length, whole at first and cut from then on.
        my %items = map { $_->[0] => "{\"t\":\"" . "y" x $_->[1] . "\"}" } ["few", 9], ["many", 600_000];
        my $listener = IO::Socket::INET->new(
            Listen => 9, LocalAddr => "127.0.0.1", LocalPort => $port, ReuseAddr => 1) or die;
        while (my $client = $listener->accept) {
            open my $out, ">>", $log or die;
            print $out "connected\n";
            close $out;
            my $request = "";
            while ($request !~ /\r\n\r\n/) {
                sysread $client, $request, 65536, length $request or last;
            }
            my ($name) = $request =~ m{^GET /([a-z]+) };
            if (my $item = $items{$name // ""}) {
                print $client "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[$item";
                print $client ",$item]" unless $asked{$name}++;
            }
            print $client $answers{$name // ""} // "";
            close $client;
        }' "$port" "$work/connections" &
    await 60 curl --silent --output /dev/null "$origin/whole" \
        || give_up "the origin starts" "it answers within 60 s" "nothing"
    : >"$work/connections"
}

connections() {
    grep --count . "$work/connections"
}

# get ARGUMENTS: stdout and stderr in `out` and `err`, the exit code in `code`.
get() {
    code=0
    "$bin/cachectl" --socket "$socket" get "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
}

start_cutter
configure <<END
cache: {max_entry_bytes: 2MiB}
origins: {cut: {base_url: "$origin", allow_private: true}}
END
start_daemon

# In the middle of the body

for name in length chunked; do
    fetch "$origin/$name"
    expect_equal "$name: a fetch says that the answer cannot be used" \
        "502 urn:larder:bad-answer" "$(outline)"
    expect_equal "$name: and that its origin broke it off" \
        "$origin broke off its answer: the connection was closed" "$(member .detail)"
    get "$origin/$name"
    expect_equal "$name: get prints no half of a body" "1|0" "$code|$(wc --bytes <"$work/out")"
    expect_match "$name: and names the origin" "$origin broke off its answer" "$(<"$work/err")"
    rm -f "$work/file"
    get -o "$work/file" "$origin/$name"
    expect_equal "$name: nor is there a file" "1|no file" \
        "$code|$(if [[ -e $work/file ]]; then echo "a file"; else echo "no file"; fi)"
done
get "$origin/large"
expect_equal "what goes through as it is too large to be kept fails, too" 1 "$code"
expect_match "by the name of its origin" "$origin broke off its answer in the middle of $origin/large" \
    "$(<"$work/err")"

for name in few many; do
    get "$origin/$name"
    whole=$(sha256sum <"$work/out")
    get --policy network-only "$origin/$name"
    expect_match "$name: JSON without a length that is cut after an object is no answer" \
        "^1\|.*broke off its answer" "$code|$(<"$work/err")"
    get --policy cache-only "$origin/$name"
    expect_equal "$name: and the whole copy stays" "0|$whole" "$code|$(sha256sum <"$work/out")"
done

# Before anything came

: >"$work/connections"
fetch "$origin/nothing"
expect_equal "what is closed without an answer cannot be reached" "502 urn:larder:unreachable" \
    "$(outline)"
expect_equal "and its origin is named" \
    "$origin cannot be reached: it closes its connections without an answer" "$(member .detail)"
expect_equal "it was connected to twice" 2 "$(connections)"
: >"$work/connections"
get "$origin/nothing"
expect_match "get says the same" "^75\|0\|.*$origin cannot be reached: it closes its connections" \
    "$code|$(wc --bytes <"$work/out")|$(<"$work/err")"
expect_equal "after two connections" 2 "$(connections)"
get "$origin/whole"
expect_equal "the next answer that is whole is printed" "0|whole" "$code|$(<"$work/out")"

finish
