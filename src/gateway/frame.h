/*
 * What the messages between the engine and the gateway say. All have "box", the number of a box.
 *
 *   to the gateway                                          descriptors
 *   "do": "open", "rules": [TEXT…], "has_resolver": BOOL    the resolver's socket, the listeners
 *         "secrets": [{…}…], and, if there are rules for requests, the authority in PEM:
 *         "certificate": TEXT, "key": TEXT
 *   "do": "rules", the same                                 the same, what is new
 *   "do": "socket"                                          one, or none
 *   "do": "answer", PLACE, "is_allowed": BOOL, "reason": TEXT
 *                                                           an answer to "ask"
 *   "do": "forget"                                          the answers
 *   "do": "report"
 *   "do": "close"
 *
 *   from the gateway, which the engine does not trust
 *   "say": "ready", "error": {…}?                           an answer to "open" and to "rules"
 *   "say": "want_socket"                                    "socket" answers
 *   "say": "ask", PLACE                                     may programs connect to PLACE: "name",
 *                                                           "port"
 *   "say": "row", ROW                                       a row that is new
 *   "say": "report", "rows": [ROW…], "n_more": N, "is_last": BOOL
 *                                                           an answer to "report", in parts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/gateway.h"
#include "gateway/rule/secret.h"

#include <jansson.h>

enum { FRAME_ROWS = 64, /* rows of one part of a report */ FRAME_WANTED_MAX = 64 /* sockets */ };

/* The longest "open" or "rules", which is the longest message. Its texts are printable ASCII and
 * line ends, of which JSON writes some as two bytes. Each object has names of members and numbers
 * besides. */
enum {
	FRAME_ESCAPED = 2,
	FRAME_MEMBERS_BYTES = 128,
	FRAME_RULE_BYTES = FRAME_ESCAPED * RULE_TEXT_BYTES + sizeof "\"\",",
	FRAME_SECRET_BYTES = FRAME_MEMBERS_BYTES +
		FRAME_ESCAPED *
			(SECRET_NAME_BYTES + RULE_HOST_BYTES + SECRET_PLACEHOLDER_BYTES +
				SECRET_VALUE_MAX),
	FRAME_BYTES = FRAME_MEMBERS_BYTES + RULES_MAX * FRAME_RULE_BYTES +
		SECRETS_MAX * FRAME_SECRET_BYTES + 2 * FRAME_ESCAPED * AUTHORITY_PEM_BYTES
};

/* Make a message. @verb: "do" or "say". Returns: a new object; NULL if memory ran out. */
json_t *frame_new(const char *verb, const char *word, uint32_t box);
/* Read the number of the box. Returns: false if there is none. */
bool frame_box(const json_t *message, uint32_t *out);

/* Convert rules to an array of texts, and back. frame_read_rules(): negative errno with @err set if
 * one is wrong. */
json_t *frame_rules(const struct rules *rules);
int frame_read_rules(struct rules *out, const json_t *texts, struct err *err);

/* Convert secrets to an array, with those values that are known, and back. Owns: the caller ends
 * what frame_read_secrets() gives, also after an error. */
json_t *frame_secrets(const struct secrets *secrets);
int frame_read_secrets(struct secrets *out, const json_t *list, struct err *err);

/* Convert a row. frame_read_row() does not trust it. Returns: false if a name is none, a reason has
 * other bytes than printable ASCII, a number is out of range, and so on. */
json_t *frame_row(const struct gateway_row *row);
bool frame_read_row(struct gateway_row *out, const json_t *json);

/* Read a place: a name, as rule_name() makes it, and a port. Returns: false if it is none. */
bool frame_read_place(char name[RULE_HOST_BYTES], uint16_t *port, const json_t *message);
void frame_put_place(json_t *message, const char *name, uint16_t port);

/* Convert an error, if there is one. An unknown code becomes ERR_INTERNAL. */
json_t *frame_error(const struct err *err);
bool frame_read_error(struct err *out, const json_t *json);
