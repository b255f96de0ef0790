/*
 * Messages of Jupyter on a WebSocket.
 *
 * Without a subprotocol a message is an object: the four parts as members, and "channel". If it has
 * buffers, it is a binary message: the number of pieces and their offsets, in 4 bytes each, the
 * first byte being the highest; then the pieces, of which the first is the object.
 *
 * With the subprotocol every message is binary: the number of offsets and the offsets, in 8 bytes
 * each, the first byte being the lowest; then the name of the channel, the four parts as JSON, and
 * buffers. The last offset is that of the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/jupyter/server_message.h"

#include "api/text/json.h"
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* V1_OFFSETS: of the channel, of the parts, and of the end. */
enum { V1_WORD = 8, V1_OFFSETS = 1 + SIGNED_PARTS + 1, PIECE_WORD = 4 };

/* ---- reading ---- */

/* Find the channel that @name is. Returns: false if it takes no messages. */
static bool find_channel(const char *name, size_t bytes, enum jupyter_channel *out)
{
	static const enum jupyter_channel channels[] = {
		JUPYTER_SHELL, JUPYTER_CONTROL, JUPYTER_STDIN};
	for (size_t i = 0; i < ARRAY_LEN(channels); i++) {
		const char *word = connection_file_channel(channels[i]);
		if (strlen(word) == bytes && memcmp(word, name, bytes) == 0) {
			*out = channels[i];
			return true;
		}
	}
	return false;
}

static int refuse_channel(struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, "channel: not shell, control or stdin");
}

static int read_text(struct jupyter_message *out, enum jupyter_channel *channel,
	struct signed_part text, struct err *err)
{
	json_error_t why;
	size_t n_values = json_parts(text.data, text.bytes);
	if (n_values > JUPYTER_VALUES)
		return err_set(err, ERR_LIMIT, "%zu values, limit %d", n_values, JUPYTER_VALUES);
	cleanup_json json_t *object = json_loadb(text.data, text.bytes, JSON_ALLOW_NUL, &why);
	if (!json_is_object(object))
		return err_set(err, ERR_PROTOCOL, "a message that is no object of JSON");
	const json_t *name = json_object_get(object, "channel");
	*channel = JUPYTER_SHELL;
	if (name && !json_is_null(name) &&
		(!json_is_string(name) ||
			!find_channel(json_string_value(name), json_string_length(name), channel)))
		return refuse_channel(err);
	return jupyter_read_object(out, object, text.bytes, err);
}

/* Read a number of @bytes bytes. */
static uint64_t read_number(const unsigned char *data, size_t bytes, bool is_low_first)
{
	uint64_t n = 0;
	for (size_t i = 0; i < bytes; i++)
		n = n << 8 | data[is_low_first ? bytes - 1 - i : i];
	return n;
}

/* Take the first of the pieces of a message that has buffers. */
static int read_pieces(struct signed_part *first, struct signed_part all, struct err *err)
{
	const unsigned char *data = all.data;
	uint64_t n = all.bytes < PIECE_WORD ? 0 : read_number(data, PIECE_WORD, false);
	uint64_t head = PIECE_WORD * (n + 1);
	if (n == 0 || head > all.bytes)
		return err_set(err, ERR_PROTOCOL, "a binary message without its offsets");
	uint64_t from = read_number(data + PIECE_WORD, PIECE_WORD, false), to = all.bytes;
	if (n > 1)
		to = read_number(data + 2 * (size_t)PIECE_WORD, PIECE_WORD, false);
	if (from < head || to < from || to > all.bytes)
		return err_set(err, ERR_PROTOCOL, "a binary message with wrong offsets");
	*first = (struct signed_part){data + from, to - from};
	return 0;
}

static int read_v1(struct jupyter_message *out, enum jupyter_channel *channel,
	struct signed_part all, struct err *err)
{
	const unsigned char *data = all.data;
	struct signed_part parts[1 + SIGNED_PARTS];
	uint64_t n = all.bytes < V1_WORD ? 0 : read_number(data, V1_WORD, true);
	if (n < V1_OFFSETS || n > V1_OFFSETS + JUPYTER_BUFFERS || V1_WORD * (n + 1) > all.bytes)
		return err_set(err, ERR_PROTOCOL, "a binary message without its offsets");
	uint64_t from = read_number(data + V1_WORD, V1_WORD, true);
	if (from < V1_WORD * (n + 1))
		return err_set(err, ERR_PROTOCOL, "a binary message with wrong offsets");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		uint64_t to = read_number(data + (i + 2) * V1_WORD, V1_WORD, true);
		if (to < from || to > all.bytes)
			return err_set(err, ERR_PROTOCOL, "a binary message with wrong offsets");
		parts[i] = (struct signed_part){data + from, to - from};
		from = to;
	}
	if (!find_channel(parts[0].data, parts[0].bytes, channel))
		return refuse_channel(err);
	return jupyter_read_parts(out, parts + 1, err);
}

int server_message_read(struct jupyter_message *out, enum jupyter_channel *channel, bool is_v1,
	bool is_text, struct signed_part message, struct err *err)
{
	if (is_v1)
		return is_text
			? err_set(err, ERR_PROTOCOL, "messages of " SERVER_MESSAGE_V1 " are binary")
			: read_v1(out, channel, message, err);
	int r = is_text ? 0 : read_pieces(&message, message, err);
	return r < 0 ? r : read_text(out, channel, message, err);
}

/* ---- writing ---- */

static json_t *part_json(const json_t *part)
{
	return part ? json_incref(json_unconst(part)) : json_object();
}

static int write_text(
	struct buf *out, enum jupyter_channel channel, const json_t *const parts[SIGNED_PARTS])
{
	cleanup_json json_t *message = json_pack("{s:s, s:o, s:o, s:o, s:o, s:[], s:O, s:O}",
		"channel", connection_file_channel(channel), "header", part_json(parts[0]),
		"parent_header", part_json(parts[1]), "metadata", part_json(parts[2]), "content",
		part_json(parts[3]), "buffers", "msg_id", json_object_get(parts[0], "msg_id"),
		"msg_type", json_object_get(parts[0], "msg_type"));
	return message ? json_put(out, message) : -ENOMEM;
}

static void put_number(struct buf *out, uint64_t n)
{
	unsigned char word[V1_WORD];
	for (size_t i = 0; i < sizeof word; i++)
		word[i] = (unsigned char)(n >> 8 * i);
	buf_append(out, word, sizeof word);
}

static int write_v1(
	struct buf *out, enum jupyter_channel channel, const json_t *const parts[SIGNED_PARTS])
{
	const char *word = connection_file_channel(channel);
	cleanup_buf struct buf texts = BUF_INIT(SERVER_MESSAGE_OUT);
	uint64_t at = V1_WORD * (V1_OFFSETS + 1) + strlen(word);
	put_number(out, V1_OFFSETS);
	put_number(out, at - strlen(word));
	put_number(out, at);
	for (int i = 0; i < SIGNED_PARTS; i++) {
		int r = parts[i] ? json_put(&texts, parts[i]) : buf_add(&texts, "{}");
		if (r < 0)
			return r;
		put_number(out, at + texts.bytes);
	}
	buf_add(out, word);
	buf_append(out, texts.data, texts.bytes);
	return buf_error(out);
}

int server_message_write(struct buf *out, bool is_v1, enum jupyter_channel channel,
	const json_t *const parts[SIGNED_PARTS])
{
	return is_v1 ? write_v1(out, channel, parts) : write_text(out, channel, parts);
}
