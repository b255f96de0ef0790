/* SPDX-License-Identifier: Apache-2.0 */
#include "net/message.h"

#include "base/attr.h"
#include "base/num.h"

#include <string.h>
#include <strings.h>

bool message_list_has(const char *list, const char *word)
{
	size_t bytes = strlen(word);
	for (const char *at = list ? list : ""; *at; at += strspn(at, " \t,")) {
		size_t n = strcspn(at, " \t,");
		if (n == bytes && strncasecmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

bool message_is_hop(const char *name, const char *connection)
{
	static const char *const names[] = {"Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding",
		"Content-Length", /* the message is framed anew */
		"HTTP2-Settings"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return message_list_has(connection, name) && strcasecmp(name, "Upgrade") != 0;
}

/* Return the length that @text says, or -1. */
static int64_t read_length(const char *text)
{
	uint64_t bytes;
	struct err err;
	return text && num_parse_count(text, NUM_ANY, &bytes, &err) == 0 && bytes < INT64_MAX
		? (int64_t)bytes
		: -1;
}

int64_t message_length(const char *content_length, const char *transfer_encoding)
{
	return transfer_encoding ? -1 : MAX(read_length(content_length), 0);
}

int64_t message_answer_length(const char *content_length, int status, const char *method)
{
	int64_t bytes = read_length(content_length);
	bool is_empty = status == 204 || status == 304 || strcmp(method, "HEAD") == 0;
	return is_empty ? MAX(bytes, 0) : bytes;
}
