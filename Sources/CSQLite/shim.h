#ifndef LARDER_CSQLITE_SHIM_H
#define LARDER_CSQLITE_SHIM_H

#include <sqlite3.h>

/* SQLITE_STATIC and SQLITE_TRANSIENT are casts of integers to function pointers, which Swift does not import. */
static inline int larder_bind_blob_static(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_STATIC);
}

static inline int larder_bind_text_static(
    sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_STATIC, SQLITE_UTF8);
}

static inline int larder_bind_text_copied(
    sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int larder_bind_blob_copied(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/* sqlite3_config is variadic, which Swift does not import. Without the statistics of memory, no lock is taken for each
   malloc; they serve soft heap limits, which are not used. Called before the first connection. */
static inline int larder_disable_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* sqlite3_db_config is variadic too. A connection that is closed last checkpoints and deletes the WAL by its name, which
   by then may be another file's. */
static inline int larder_keep_wal_on_close(sqlite3 *connection, int keeps) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps, (int *)0);
}

/* errno of the last system call that failed on the WAL; 0 without one. sqlite3_system_errno does not have that of a
   COMMIT, which writes the WAL. */
static inline int larder_wal_errno(sqlite3 *connection) {
    sqlite3_file *wal = 0;
    int error = 0;
    sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    if (wal && wal->pMethods) wal->pMethods->xFileControl(wal, SQLITE_FCNTL_LAST_ERRNO, &error);
    return error;
}

#endif
