/*
 * The WebSockets of a kernel.
 *
 * What the kernel publishes goes to all of them, and a reply to the one whose request it answers:
 * the identity in the route of a message is the session id of its client. A client that comes again
 * under the same id takes the place of its earlier connection. While nobody is connected, messages
 * are kept for the client that has left last, up to KEPT_BYTES; when there are more, the oldest are
 * dropped, and the client is told how many.
 *
 * A client that does not read is disconnected when BEHIND_BYTES wait for it, as the kernel does not
 * wait for clients.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/jupyter/server.h"

#include "base/alloc.h"
#include "base/id.h"
#include "base/utf8.h"
#include "api/text/json.h"
#include "net/message.h"
#include "serve/jupyter/inside.h"
#include "serve/jupyter/server_message.h"
#include "serve/web/websocket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS_MAX = 16, KEPT_BYTES = 4 << 20, KEPT_MESSAGES = 4096, BEHIND_BYTES = 16 << 20 };

/* A WebSocket. It may outlive its kernel. */
struct server_channel {
	struct server_channel *next;
	struct server_kernel *kernel; /* NULL when the kernel has ended */
	struct websocket *socket;
	char client[SERVER_CLIENT_BYTES];
	bool is_v1, is_named; /* is_named: the client has chosen its session id */
	bool is_open;	      /* messages can be sent */
};

/* ---- messages that are kept ---- */

void server_forget_kept(struct server_kept *kept)
{
	json_decref(kept->messages);
	*kept = (struct server_kept){.messages = NULL};
}

static void keep(struct server_kept *kept, enum jupyter_channel channel,
	const json_t *const parts[SIGNED_PARTS])
{
	if (!kept->client[0])
		return;
	json_t *message = json_need(json_pack("[i]", (int)channel));
	for (int i = 0; i < SIGNED_PARTS; i++)
		json_add_new(message, parts[i] ? json_incref(json_unconst(parts[i])) : json_null());
	if (!kept->messages)
		kept->messages = json_need(json_array());
	kept->bytes += json_bytes(message);
	json_add_new(kept->messages, message);
	while (json_array_size(kept->messages) > 0 &&
		(kept->bytes > KEPT_BYTES || json_array_size(kept->messages) > KEPT_MESSAGES)) {
		kept->bytes -= json_bytes(json_array_get(kept->messages, 0));
		(void)json_array_remove(kept->messages, 0);
		kept->n_lost++;
	}
}

/* ---- sending ---- */

static void send_bytes(struct server_channel *ch, const struct buf *message)
{
	if (!ch->socket || buf_error(message) < 0)
		return;
	if (websocket_waiting(ch->socket) > BEHIND_BYTES)
		websocket_drop(ch->socket);
	else
		(void)websocket_send(ch->socket, !ch->is_v1, message->data, message->bytes);
}

static void send_parts(struct server_channel *ch, enum jupyter_channel channel,
	const json_t *const parts[SIGNED_PARTS])
{
	cleanup_buf struct buf message = BUF_INIT(SERVER_MESSAGE_OUT);
	if (server_message_write(&message, ch->is_v1, channel, parts) == 0)
		send_bytes(ch, &message);
}

static struct server_channel *find_channel(const struct server_kernel *k, const char *client)
{
	for (struct server_channel *ch = k->channels; ch; ch = ch->next)
		if (ch->is_open && strcmp(ch->client, client) == 0)
			return ch;
	return NULL;
}

/* Publish to all: the message is written once for each protocol in use. */
static void publish(struct server_kernel *k, const json_t *const parts[SIGNED_PARTS])
{
	cleanup_buf struct buf text = BUF_INIT(SERVER_MESSAGE_OUT),
			       v1 = BUF_INIT(SERVER_MESSAGE_OUT);
	for (struct server_channel *ch = k->channels; ch; ch = ch->next) {
		struct buf *out = ch->is_v1 ? &v1 : &text;
		if (!ch->is_open)
			continue;
		int r = out->bytes > 0 ? 0
				       : server_message_write(out, ch->is_v1, JUPYTER_IOPUB, parts);
		if (r == 0)
			send_bytes(ch, out);
	}
}

void server_send(struct server_kernel *k, enum jupyter_channel channel,
	const struct jupyter_route *to, const json_t *const parts[SIGNED_PARTS])
{
	char client[SERVER_CLIENT_BYTES] = "";
	struct server_channel *ch;
	if (channel != JUPYTER_IOPUB && to && to->n == 1)
		memcpy(client, to->data[0], MIN(to->bytes[0] + 1u, sizeof client - 1));
	if (k->n_channels == 0 && (channel == JUPYTER_IOPUB || strcmp(client, k->kept.client) == 0))
		keep(&k->kept, channel, parts);
	else if (channel == JUPYTER_IOPUB)
		publish(k, parts);
	else if ((ch = find_channel(k, client)) != NULL)
		send_parts(ch, channel, parts);
}

/* Send what was kept for the client of @ch, if it is for this one, and forget it. */
static void send_kept(struct server_channel *ch)
{
	struct server_kept kept = ch->kernel->kept;
	ch->kernel->kept = (struct server_kept){.messages = NULL};
	bool is_for_it = ch->is_named && strcmp(kept.client, ch->client) == 0;
	const json_t *message;
	size_t i;
	if (is_for_it && kept.n_lost > 0) {
		char text[128], date[KERNEL_DATE_BYTES], id[SERVER_ID_BYTES];
		snprintf(text, sizeof text,
			"retort: %zu messages were left out while you were not connected\n",
			kept.n_lost);
		kernel_date(date);
		server_make_id(id);
		cleanup_json json_t *header = jupyter_header("stream", id, ch->kernel->id, date);
		cleanup_json json_t *content =
			json_need(json_pack("{s:s, s:s}", "name", "stderr", "text", text));
		const json_t *const parts[SIGNED_PARTS] = {header, NULL, NULL, content};
		send_parts(ch, JUPYTER_IOPUB, parts);
	}
	json_array_foreach(kept.messages, i, message)
	{
		const json_t *parts[SIGNED_PARTS];
		for (size_t p = 0; p < SIGNED_PARTS; p++) {
			const json_t *part = json_array_get(message, p + 1);
			parts[p] = json_is_null(part) ? NULL : part;
		}
		if (is_for_it)
			send_parts(ch,
				(enum jupyter_channel)json_integer_value(
					json_array_get(message, 0)),
				parts);
	}
	server_forget_kept(&kept);
}

/* ---- receiving ---- */

static void on_message(void *arg, bool is_text, const char *data, size_t bytes)
{
	struct server_channel *ch = arg;
	struct server_kernel *k = ch->kernel;
	struct jupyter_message m;
	enum jupyter_channel channel;
	struct err err;
	if (!k || k->phase != SERVER_LIVE)
		return;
	int r = server_message_read(
		&m, &channel, ch->is_v1, is_text, (struct signed_part){data, bytes}, &err);
	if (r < 0) {
		if (err.code != ERR_NOT_FOUND) {
			char reason[FRAMES_REASON_BYTES];
			snprintf(reason, sizeof reason, "%.*s",
				(int)utf8_cut(err.msg, strlen(err.msg), sizeof reason - 1),
				err.msg);
			websocket_close(ch->socket, FRAMES_POLICY, reason);
		}
		return;
	}
	m.route.n = 1;
	m.route.bytes[0] = (unsigned char)(strlen(ch->client) - 1);
	memcpy(m.route.data[0], ch->client, strlen(ch->client));
	kernel_receive(k->kernel, channel, &m);
	if (ch->kernel && k->phase == SERVER_LIVE && kernel_is_full(k->kernel))
		websocket_pause(ch->socket, true);
}

void server_pause_channels(const struct server_kernel *k, bool is_paused)
{
	for (struct server_channel *ch = k->channels; ch; ch = ch->next)
		if (ch->is_open)
			websocket_pause(ch->socket, is_paused);
}

/* ---- opening and closing ---- */

static void on_opened(void *arg)
{
	struct server_channel *ch = arg;
	struct server_kernel *k = ch->kernel;
	if (!k)
		return;
	struct server_channel *earlier = find_channel(k, ch->client);
	k->n_channels++;
	ch->is_open = true;
	if (earlier)
		websocket_close(earlier->socket, FRAMES_POLICY, "this client has connected again");
	send_kept(ch);
	if (k->phase != SERVER_LIVE)
		websocket_pause(ch->socket, true);
}

/* Take the channel out of its kernel's list. */
static void leave(struct server_channel *ch)
{
	struct server_kernel *k = take_ptr(ch->kernel);
	struct server_channel **link = k ? &k->channels : NULL;
	while (link && *link != ch)
		link = &(*link)->next;
	if (link)
		*link = ch->next;
	if (!k || !ch->is_open)
		return;
	k->n_channels--;
	ch->is_open = false;
	if (k->n_channels == 0 && ch->is_named)
		snprintf(k->kept.client, sizeof k->kept.client, "%s", ch->client);
}

static void on_over(void *arg)
{
	struct server_channel *ch = arg;
	ch->socket = NULL;
	leave(ch);
	free(ch);
}

void server_close_channels(struct server_kernel *k)
{
	while (k->channels) {
		struct server_channel *ch = k->channels;
		leave(ch);
		websocket_close(ch->socket, FRAMES_NORMAL, "the kernel has ended");
	}
}

void server_open_channel(struct front_call *c, struct server_kernel *k)
{
	const char *client = c->x ? http_query(c->x, "session_id") : NULL;
	const char *offered = c->x ? http_header(c->x, "Sec-WebSocket-Protocol") : NULL;
	if (client && strlen(client) >= SERVER_CLIENT_BYTES) {
		server_refuse(c, 400, "session_id: over 128 bytes");
		return;
	}
	if (k->n_channels >= CHANNELS_MAX) {
		server_refuse(c, 503, "16 clients are connected to the kernel, which is the limit");
		return;
	}
	struct server_channel *ch = xnew(struct server_channel);
	struct websocket_user user = {.opened = on_opened,
		.message = on_message,
		.over = on_over,
		.arg = ch,
		.message_max_bytes = SERVER_MESSAGE_BYTES};
	ch->kernel = k;
	ch->is_named = client && client[0];
	ch->is_v1 = offered && message_list_has(offered, SERVER_MESSAGE_V1);
	if (ch->is_named)
		snprintf(ch->client, sizeof ch->client, "%s", client);
	else
		server_make_id(ch->client);
	struct http_exchange *x = front_take(c);
	if (!x || websocket_check(x) < 0) {
		free(ch);
		return;
	}
	ch->next = k->channels;
	k->channels = ch;
	websocket_open(
		&ch->socket, k->context->loop, x, ch->is_v1 ? SERVER_MESSAGE_V1 : NULL, &user);
}
