// A server that knows one answer: what a loop over epoll takes for a request and nothing else.
//
//     epoll SOCKET BODY_BYTES
//
// It takes a request to end with an empty line, and to have no body. A client that does not read
// what it is answered has its connection closed.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_BYTES = 65536, ANSWERS = 256, EVENTS = 64, DESCRIPTORS = 1024 };

static char answers[ANSWERS * 4096];
static size_t answer_bytes;
// How much of "\r\n\r\n" was read last, by descriptor.
static int matched[DESCRIPTORS];

static void make_answers(size_t body_bytes) {
    answer_bytes = (size_t)snprintf(answers, sizeof answers,
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
        body_bytes);
    if (answer_bytes + body_bytes > 4096) exit(2);
    memset(answers + answer_bytes, 'x', body_bytes);
    answer_bytes += body_bytes;
    for (int n = 1; n < ANSWERS; n++) memcpy(answers + n * answer_bytes, answers, answer_bytes);
}

// How many requests end in what was read.
static size_t requests(int descriptor, const char *bytes, ssize_t count) {
    static const char end[] = "\r\n\r\n";
    size_t found = 0;
    int state = matched[descriptor];
    for (ssize_t n = 0; n < count; n++) {
        state = bytes[n] == end[state] ? state + 1 : bytes[n] == '\r';
        if (state == 4) {
            found++;
            state = 0;
        }
    }
    matched[descriptor] = state;
    return found;
}

static int answer(int descriptor) {
    static char bytes[READ_BYTES];
    ssize_t count = read(descriptor, bytes, sizeof bytes);
    if (count <= 0) return -1;
    for (size_t left = requests(descriptor, bytes, count); left > 0;) {
        size_t some = left < ANSWERS ? left : ANSWERS;
        size_t size = some * answer_bytes;
        if (write(descriptor, answers, size) != (ssize_t)size) return -1;
        left -= some;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    make_answers(strtoul(argv[2], NULL, 10));
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 128)) {
        perror(argv[1]);
        return 1;
    }
    int loop = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];
    epoll_ctl(loop, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(loop, events, EVENTS, -1);
        for (int n = 0; n < count; n++) {
            int descriptor = events[n].data.fd;
            if (descriptor == listener) {
                int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
                if (client < 0) continue;
                if (client >= DESCRIPTORS) {
                    close(client);
                    continue;
                }
                matched[client] = 0;
                event.data.fd = client;
                epoll_ctl(loop, EPOLL_CTL_ADD, client, &event);
            } else if (answer(descriptor)) {
                close(descriptor);
            }
        }
    }
}
