/* libarchive, loaded when it is first needed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <archive.h>
#include <archive_entry.h>

/* The functions of libarchive that are used, without the prefix "archive_". */
#define LIBARCHIVE_SYMBOLS(X)                                                                      \
	X(entry_clear)                                                                             \
	X(entry_copy_stat)                                                                         \
	X(entry_filetype)                                                                          \
	X(entry_free)                                                                              \
	X(entry_hardlink)                                                                          \
	X(entry_linkify)                                                                           \
	X(entry_linkresolver_free)                                                                 \
	X(entry_linkresolver_new)                                                                  \
	X(entry_linkresolver_set_strategy)                                                         \
	X(entry_mtime)                                                                             \
	X(entry_mtime_nsec)                                                                        \
	X(entry_new)                                                                               \
	X(entry_pathname)                                                                          \
	X(entry_perm)                                                                              \
	X(entry_set_gid)                                                                           \
	X(entry_set_gname)                                                                         \
	X(entry_set_hardlink)                                                                      \
	X(entry_set_pathname)                                                                      \
	X(entry_set_symlink)                                                                       \
	X(entry_set_uid)                                                                           \
	X(entry_set_uname)                                                                         \
	X(entry_size)                                                                              \
	X(entry_symlink)                                                                           \
	X(entry_unset_size)                                                                        \
	X(error_string)                                                                            \
	X(read_data)                                                                               \
	X(read_data_block)                                                                         \
	X(read_disk_descend)                                                                       \
	X(read_disk_new)                                                                           \
	X(read_disk_open)                                                                          \
	X(read_disk_set_behavior)                                                                  \
	X(read_disk_set_symlink_hybrid)                                                            \
	X(read_disk_set_symlink_logical)                                                           \
	X(read_free)                                                                               \
	X(read_new)                                                                                \
	X(read_next_header)                                                                        \
	X(read_next_header2)                                                                       \
	X(read_open)                                                                               \
	X(read_set_options)                                                                        \
	X(read_support_filter_gzip)                                                                \
	X(read_support_filter_zstd)                                                                \
	X(read_support_format_raw)                                                                 \
	X(read_support_format_tar)                                                                 \
	X(set_error)                                                                               \
	X(write_close)                                                                             \
	X(write_data)                                                                              \
	X(write_data_block)                                                                        \
	X(write_disk_new)                                                                          \
	X(write_disk_set_options)                                                                  \
	X(write_finish_entry)                                                                      \
	X(write_free)                                                                              \
	X(write_header)                                                                            \
	X(write_new)                                                                               \
	X(write_open)                                                                              \
	X(write_set_bytes_in_last_block)                                                           \
	X(write_set_bytes_per_block)                                                               \
	X(write_set_format_gnutar)

struct libarchive {
#define X(symbol) typeof(archive_##symbol) *symbol;
	LIBARCHIVE_SYMBOLS(X)
#undef X
};

/*
 * Load the library and find its functions. Set the locale for characters to UTF-8, because
 * libarchive converts the names of some archives to it. retort is not linked with it: the ten
 * libraries that it needs would be loaded at each start, and only `retort cp` and retort-unpack
 * read and write archives. Errors: ERR_NOT_FOUND with a hint, when libarchive is missing or too
 * old.
 */
int libarchive_load(struct libarchive *lib, struct err *err);
