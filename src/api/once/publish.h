/* The option -p: a port of the box, and where it is opened on the host. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/port/place.h"

#include <jansson.h>

struct publish {
	struct place place;
	uint16_t box_port;
};

enum { PUBLISH_MAX = 16 }; /* ports of one box */

/* Read the @n texts of the option -p into @out, which has room for PUBLISH_MAX. Errors: ERR_USAGE,
 * ERR_LIMIT. */
int publish_parse(struct publish *out, const char *const *texts, size_t n, struct err *err);

/* Return the parameters of port.open for @session, which may have no listener yet. Owns: the caller
 * decrefs. */
json_t *publish_params(const struct publish *p, const char *session);

/* Write "port 80 of the box is at 127.0.0.1:8080" to @out. @address: as port.open returns it. */
enum { PUBLISH_TEXT_BYTES = PLACE_TEXT_BYTES + 64 };
void publish_say(uint16_t box_port, const char *address, char out[PUBLISH_TEXT_BYTES]);
