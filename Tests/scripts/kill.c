// Kills its process at a point of what it does to state.db, cache.db and their folder. Preloaded
// into the daemon by kill.sh, which says what the points are.
//
// The plan is the file $KILL_PLAN: `POINT N`, then `hold`, `pause`, or both; nothing is counted without
// it, and the N-th time that the point is come to is the last. With `hold` the first commit after the
// plan was made is not counted and waits until the file $KILL_PLAN.go is there, so that commands gather
// after it; $KILL_PLAN.held says that it waits. $KILL_PLAN.done says that the process was killed, and
// where. With `pause` it is not killed: it waits at the point until $KILL_PLAN.on is there, and
// $KILL_PLAN.paused says that it does. It does not pause with half of a frame written.
//
// One thread of the daemon writes both logs, and steps are taken before that one or by it, so
// nothing here is guarded.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char point[32];
static int wanted, passed, holds, pauses;

// The plan's file with a suffix.
static const char *beside(const char *suffix) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", getenv("KILL_PLAN"), suffix);
    return path;
}

static int has_plan(void) {
    char line[64] = "", first[8] = "", second[8] = "", read_point[32];
    int number, file;
    if (!getenv("KILL_PLAN") || (file = open(beside(""), O_RDONLY | O_CLOEXEC)) < 0) {
        *point = 0;
        return 0;
    }
    ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    if (length <= 0 || sscanf(line, "%31s %d %7s %7s", read_point, &number, first, second) < 2) return 0;
    if (!*point) {
        strcpy(point, read_point);
        wanted = number;
        passed = 0;
        holds = !strcmp(first, "hold");
        pauses = !strcmp(holds ? second : first, "pause");
    }
    return 1;
}

static void make(const char *path, const char *text) {
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (write(file, text, strlen(text)) >= 0) close(file);
}

// Whether the process ends here.
static int is_due(const char *file, const char *what) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", file, what);
    return has_plan() && !strcmp(name, point) && ++passed == wanted;
}

static void end(const char *what) {
    make(beside(".done"), what);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// Makes one file, and waits until the other one is there.
static void wait_for(const char *go, const char *waiting) {
    make(beside(waiting), "");
    for (int n = 0; n < 1000 && access(beside(go), F_OK) != 0; n++) usleep(10000);
}

static void come_to(const char *file, const char *what) {
    if (!is_due(file, what)) return;
    if (!pauses) end(point);
    wait_for(".on", ".paused");
}

static int path_of(int file, char *path) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, PATH_MAX);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

// -- commits: frames of a log, each its head and its page; the last one's head says that it is
// (https://sqlite.org/fileformat.html#the_write_ahead_log)

struct database {
    const char *name, *file, *log;
    // The commit that is being written: whether it counts, and its last frame's head or all of it is
    // in the log.
    int counts;
    enum { NOTHING, HEAD, WHOLE } has;
};
static struct database databases[] = {
    {"state", "/state.db", "/state.db-wal", 0, NOTHING},
    {"cache", "/cache.db", "/cache.db-wal", 0, NOTHING},
};

static int ends_with(const char *path, const char *end) {
    size_t length = strlen(path), most = strlen(end);
    return length >= most && !strcmp(path + length - most, end);
}

static struct database *database_of(int file, int *is_log) {
    char path[PATH_MAX + 1];
    if (!path_of(file, path)) return NULL;
    for (int n = 0; n < 2; n++) {
        *is_log = ends_with(path, databases[n].log);
        if (*is_log || ends_with(path, databases[n].file)) return &databases[n];
    }
    return NULL;
}

static ssize_t write_at(int file, const void *bytes, size_t count, off64_t offset) {
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    int is_log;
    struct database *database = database_of(file, &is_log);
    if (!database) return write_at(file, bytes, count, offset);
    if (!is_log) {
        come_to(database->name, "-checkpoint");
    } else if (count == 24) {
        int pages;
        memcpy(&pages, (const char *)bytes + 4, sizeof pages);
        if (pages != 0) {
            database->has = HEAD;
            database->counts = !(has_plan() && holds);
            if (!database->counts) {
                holds = 0;
                wait_for(".go", ".held");
            } else {
                come_to(database->name, "-begun");
            }
        }
    } else if (database->has == HEAD) {
        if (database->counts && is_due(database->name, "-torn")) {
            write_at(file, bytes, count / 2, offset);
            end(point);
        }
        ssize_t written = write_at(file, bytes, count, offset);
        database->has = WHOLE;
        if (database->counts) come_to(database->name, "-written");
        return written;
    }
    return write_at(file, bytes, count, offset);
}

// -- steps: syncs, renames and removals in the folder $KILL_FOLDER

static void step(const char *what, const char *path) {
    const char *folder = getenv("KILL_FOLDER");
    if (!folder || strncmp(path, folder, strlen(folder)) != 0) return;
    if (strstr(path, "reserve") || strstr(path, "-journal")) return;
    char words[PATH_MAX + 16];
    snprintf(words, sizeof words, "%s %s", what, path + strlen(folder));
    if (is_due("step", "")) end(words);
}

static int sync_by(long call, int file) {
    int is_log;
    char path[PATH_MAX + 1];
    if (path_of(file, path)) step("sync", path);
    int result = (int)syscall(call, file);
    struct database *database = database_of(file, &is_log);
    if (database && is_log && database->has == WHOLE) {
        database->has = NOTHING;
        if (database->counts) come_to(database->name, "-synced");
    }
    return result;
}

int fsync(int file) { return sync_by(SYS_fsync, file); }
int fdatasync(int file) { return sync_by(SYS_fdatasync, file); }

int unlink(const char *path) {
    if (access(path, F_OK) == 0) step("remove", path);
    return (int)syscall(SYS_unlink, path);
}
int rename(const char *path, const char *place) {
    step("rename", path);
    return (int)syscall(SYS_rename, path, place);
}
