/* What the headers of an HTTP message say about how it is passed on. Pure. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Return whether @list, of words between commas and blanks, has @word, in any case. @list may be
 * NULL. */
bool message_list_has(const char *list, const char *word);

/*
 * Return whether the header @name is for one connection only, and not passed on: those of HTTP, and
 * those that @connection names, the value of the header Connection or NULL. "Upgrade" is not among
 * them: who passes a request on decides about it. Source: RFC 9110, 7.6.1.
 */
bool message_is_hop(const char *name, const char *connection);

/* Return the length of a body, by the values of Content-Length and Transfer-Encoding, NULL if the
 * message does not have them: 0 without one, -1 if only its end will tell. */
int64_t message_length(const char *content_length, const char *transfer_encoding);
/* Return the length that a response to a request by @method has by its headers: -1 if only its end
 * will tell. A response without a body may say how long it would be. */
int64_t message_answer_length(const char *content_length, int status, const char *method);
