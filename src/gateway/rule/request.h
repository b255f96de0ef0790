/*
 * Rules for HTTP requests: what they have besides a host, and which requests fit them. Pure.
 *
 * Paths are compared byte by byte, so "/a" and "/%61" are two paths. A request whose path a server
 * may read as another one fits only a rule for all paths. Where a name leads ("=") is a rule of its
 * own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

enum { RULE_METHOD_BYTES = 24, RULE_PATH_BYTES = 256, RULE_AUTHORITY_BYTES = 512 };

struct rule;

/* A request, as its line and headers say. */
struct rule_request {
	const char *method, *target; /* target: "/path?query", as the client sent it */
	bool is_websocket;	     /* it asks for a WebSocket */
};

/*
 * Return whether @target can be read in one way only. It begins with "/". Its path is of printable
 * ASCII, without a blank, "#", "\\" and ";"; it has no empty, "." or ".." segment (an empty one may
 * be the last); and no escape that is malformed, is not UTF-8 together with those beside it, or
 * stands for "/", "\\", ".", ";", "%" or a control.
 */
bool rule_target_is_plain(const char *target);

/*
 * Return whether the rule @r, which is for requests, allows @request of its host.
 *
 * A target must begin with "/", and be of printable ASCII, without a blank and "#". One that is not
 * plain fits only a rule for all paths, which is "/" and a "*". A "*" in the middle of a path
 * stands for no escaped "?" or "#" either: some servers end a path there. What asks for a WebSocket
 * must be a GET, and fits rules for WEBSOCKET alone.
 */
bool rule_request_fits(const struct rule *r, const struct rule_request *request);

/* Return whether a rule can have the method @text: capitals, then also "-"; or "*". It may be too
 * long for one. */
bool rule_is_method(const char *text, size_t bytes);

/* Write HOST:PORT of @url, which has "://", without its user; the port is that of its scheme if it
 * has none. Returns: where its path begins; NULL if it names no host, or one that is too long. */
const char *rule_url_authority(char out[RULE_AUTHORITY_BYTES], const char *url);

/* Return whether @text, without the "!" of a rule, is meant as METHOD HOST[:PORT]/PATH. */
bool rule_request_is(const char *text);
/* Read METHOD and PATH into @r, and HOST[:PORT] into @authority, unchecked. Errors: ERR_USAGE, with
 * a message that does not name the rule; also for a path that is not plain or has "**". */
int rule_request_read(
	struct rule *r, char authority[RULE_AUTHORITY_BYTES], const char *text, struct err *err);
