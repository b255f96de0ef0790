/* Messages of a WebSocket of the front "jupyter", as a hostile client writes them. Accepted
 * messages are written and read again, and are then the same. The first byte chooses the protocol.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/json.h"
#include "serve/jupyter/server_message.h"

#include <string.h>

static void check(const struct jupyter_message *m, enum jupyter_channel channel)
{
	MUST(channel == JUPYTER_SHELL || channel == JUPYTER_CONTROL || channel == JUPYTER_STDIN);
	MUST(json_is_object(m->header) && json_is_object(m->parent));
	MUST(json_is_object(m->metadata) && json_is_object(m->content));
	MUST(m->type && m->type[0] && strlen(m->type) <= JUPYTER_NAME_BYTES);
	MUST(m->id && m->id[0] && strlen(m->id) <= JUPYTER_NAME_BYTES);
	MUST(m->route.n == 0);
}

static void write_again(const struct jupyter_message *m, enum jupyter_channel channel, bool is_v1)
{
	struct jupyter_message again;
	enum jupyter_channel found;
	struct err err;
	cleanup_buf struct buf text = BUF_INIT(SERVER_MESSAGE_OUT);
	const json_t *const parts[SIGNED_PARTS] = {m->header, m->parent, m->metadata, m->content};
	MUST(server_message_write(&text, is_v1, channel, parts) == 0);
	const struct signed_part message = {text.data, text.bytes};
	MUST(server_message_read(&again, &found, is_v1, !is_v1, message, &err) == 0);
	check(&again, found);
	MUST(found == channel);
	MUST(json_equal(again.header, m->header) && json_equal(again.content, m->content));
	MUST(json_equal(again.parent, m->parent) && json_equal(again.metadata, m->metadata));
	jupyter_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct jupyter_message m;
	enum jupyter_channel channel;
	struct err err;
	if (bytes < 1)
		return 0;
	bool is_v1 = data[0] & 1, is_text = data[0] & 2;
	const struct signed_part message = {data + 1, bytes - 1};
	if (server_message_read(&m, &channel, is_v1, is_text, message, &err) < 0)
		return 0;
	check(&m, channel);
	write_again(&m, channel, is_v1);
	write_again(&m, channel, !is_v1);
	jupyter_done(&m);
	return 0;
}
