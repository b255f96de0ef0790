/* One line for each request, without what was sent. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#define HTTP_LOG_CHOICES "none|text|json"
enum http_log_kind { HTTP_LOG_NONE, HTTP_LOG_TEXT, HTTP_LOG_JSON };

struct http_log {
	enum http_log_kind kind;
	int fd;
	uint64_t n_lost; /* lines that @fd would not take */
};

/* What is said of a request. Texts may be anybody's bytes; NULL where there is none. */
struct http_log_line {
	const char *caller, *method, *path, *what;
	unsigned status; /* 0: the client went before it had an answer */
	uint64_t ms, bytes_in, bytes_out;
};

/*
 * Write it. A reader that does not read loses lines, and is told how many, rather than stop the
 * engine. NULL is nothing.
 */
void http_log_write(struct http_log *log, const struct http_log_line *line);
