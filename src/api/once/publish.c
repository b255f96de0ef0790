/* SPDX-License-Identifier: Apache-2.0 */
#include "api/once/publish.h"

#include <stdio.h>

int publish_parse(struct publish *out, const char *const *texts, size_t n, struct err *err)
{
	if (n > PUBLISH_MAX)
		return err_set(err, ERR_LIMIT, "more than %d times --publish", PUBLISH_MAX);
	for (size_t i = 0; i < n; i++) {
		int r = place_parse_option(&out[i].place, &out[i].box_port, texts[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

json_t *publish_params(const struct publish *p, const char *session)
{
	char text[PLACE_TEXT_BYTES];
	place_write(&p->place, text);
	return json_pack("{s:s, s:i, s:s, s:b}", "session", session, "port", (int)p->box_port,
		"listen", text, "early", 1);
}

void publish_say(uint16_t box_port, const char *address, char out[PUBLISH_TEXT_BYTES])
{
	snprintf(out, PUBLISH_TEXT_BYTES, "port %u of the box is at %s", (unsigned)box_port,
		address);
}
