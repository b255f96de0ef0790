/* Messages of Jupyter: what is signed is read once, and nothing else is.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/message.h"

#include "base/attr.h"
#include "base/json.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_FRAMES = 7 };

/* A message with one identity, signed with the key of @signer. */
struct sent {
	struct jupyter_text text;
	struct signed_part frames[N_FRAMES];
};

static struct signer *signer_of(const char *key)
{
	struct signer *signer = NULL;
	struct err err;
	CHECK_INT(signer_new(&signer, key, &err), 0);
	return signer;
}

static void put(struct sent *sent, const struct signer *signer, const char *id)
{
	struct err err;
	cleanup_json json_t *header = jupyter_header("execute_request", id, "s", "2026-01-01");
	cleanup_json json_t *content = json_pack("{s:s}", "code", "6 * 7");
	const json_t *const parts[SIGNED_PARTS] = {header, NULL, NULL, content};
	CHECK_INT(jupyter_write(&sent->text, signer, parts, &err), 0);
	sent->frames[0] = (struct signed_part){"peer", 4};
	sent->frames[1] = (struct signed_part){JUPYTER_DELIMITER, strlen(JUPYTER_DELIMITER)};
	sent->frames[2] = (struct signed_part){sent->text.signature, strlen(sent->text.signature)};
	for (int i = 0; i < SIGNED_PARTS; i++)
		sent->frames[3 + i] =
			(struct signed_part){sent->text.parts[i], sent->text.bytes[i]};
}

static int reading(struct sent *sent, struct signer *signer, size_t n, struct err *err)
{
	struct jupyter_message m;
	int r = jupyter_read(&m, signer, sent->frames, n, err);
	if (r == 0) {
		CHECK_STR(m.type, "execute_request");
		CHECK_STR(json_get_text(m.content, "code"), "6 * 7");
		CHECK_INT(m.route.n, 1);
		CHECK_INT(m.route.bytes[0], 3);
		CHECK(memcmp(m.route.data[0], "peer", 4) == 0);
		jupyter_done(&m);
	}
	return r;
}

/* RFC 4231, test case 2, in four parts */
TEST(the_signature_is_hmac_sha256)
{
	struct signer *signer = signer_of("Jefe");
	const struct signed_part parts[SIGNED_PARTS] = {
		{"what do ya ", 11}, {"want ", 5}, {"", 0}, {"for nothing?", 12}};
	char text[SIGNATURE_BYTES + 1];
	signer_sign(signer, parts, text);
	CHECK_STR(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	signer_free(signer);
}

TEST(what_was_written_is_read_once)
{
	struct signer *signer = signer_of("key");
	struct err err;
	struct sent sent;
	put(&sent, signer, "m1");
	CHECK_INT(reading(&sent, signer, N_FRAMES, &err), 0);
	CHECK(reading(&sent, signer, N_FRAMES, &err) < 0);
	CHECK_INT(err.code, ERR_AUTH);
	CHECK_HAS(err.msg, "came before");
	jupyter_text_done(&sent.text);
	signer_free(signer);
}

TEST(a_wrong_signature_is_refused)
{
	struct signer *signer = signer_of("key"), *other = signer_of("other");
	struct err err;
	struct sent sent;
	put(&sent, other, "m1");
	CHECK(reading(&sent, signer, N_FRAMES, &err) < 0);
	CHECK_INT(err.code, ERR_AUTH);
	sent.frames[2].bytes = 0;
	CHECK(reading(&sent, signer, N_FRAMES, &err) < 0);
	CHECK_INT(err.code, ERR_AUTH);
	jupyter_text_done(&sent.text);
	put(&sent, signer, "m1");
	sent.frames[6] = (struct signed_part){"{\"code\":\"1\"}", 12};
	CHECK(reading(&sent, signer, N_FRAMES, &err) < 0);
	CHECK_INT(err.code, ERR_AUTH);
	jupyter_text_done(&sent.text);
	signer_free(signer);
	signer_free(other);
}

TEST(without_a_key_nothing_is_signed)
{
	struct signer *signer = signer_of("");
	struct err err;
	struct sent sent;
	put(&sent, signer, "m1");
	CHECK_STR(sent.text.signature, "");
	CHECK_INT(reading(&sent, signer, N_FRAMES, &err), 0);
	CHECK_INT(reading(&sent, signer, N_FRAMES, &err), 0);
	jupyter_text_done(&sent.text);
	signer_free(signer);
}

/* However many come between, up to SIGNATURE_SEEN, a message is known again. */
TEST(many_signatures_are_remembered)
{
	struct signer *signer = signer_of("key");
	const struct signed_part none = {"", 0};
	struct signed_part parts[SIGNED_PARTS] = {none, none, none, none};
	int n = 3 * SIGNATURE_SEEN, n_wrong = 0;
	char text[SIGNATURE_BYTES + 1], name[32];
	struct err err;
	for (int i = 0; i < n; i++) {
		const struct signed_part signature = {text, SIGNATURE_BYTES};
		snprintf(name, sizeof name, "%d", i);
		parts[0] = (struct signed_part){name, strlen(name)};
		signer_sign(signer, parts, text);
		n_wrong += signer_check(signer, parts, &signature, &err) != 0;
		n_wrong += signer_check(signer, parts, &signature, &err) != -err_errno(ERR_AUTH);
		if (i < SIGNATURE_SEEN)
			continue;
		snprintf(name, sizeof name, "%d", i - SIGNATURE_SEEN + 1);
		parts[0].bytes = strlen(name);
		signer_sign(signer, parts, text);
		n_wrong += signer_check(signer, parts, &signature, &err) != -err_errno(ERR_AUTH);
	}
	CHECK_INT(n_wrong, 0);
	signer_free(signer);
}

TEST(frames_that_are_no_message_are_refused)
{
	struct signer *signer = signer_of("");
	struct err err;
	struct sent sent;
	static const struct {
		int frame;
		const char *text;
	} rows[] = {{3, "[]"}, {3, "{}"}, {3, "{\"msg_id\":\"a\",\"msg_type\":7}"},
		{3, "{\"msg_id\":\"a\",\"msg_type\":\"\"}"}, {4, ""}, {5, "nul"}, {6, "\"a\""},
		{6, "{\"a\":\"\xff\"}"}, {0, ""}, {1, "<IDS>"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put(&sent, signer, "m1");
		sent.frames[rows[i].frame] =
			(struct signed_part){rows[i].text, strlen(rows[i].text)};
		CHECK(reading(&sent, signer, N_FRAMES, &err) < 0);
		CHECK(err.msg[0]);
		jupyter_text_done(&sent.text);
	}
	put(&sent, signer, "m1");
	for (size_t n = 0; n < N_FRAMES; n++)
		CHECK(reading(&sent, signer, n, &err) < 0);
	jupyter_text_done(&sent.text);
	signer_free(signer);
}

TEST(what_is_too_large_is_refused_before_it_is_parsed)
{
	struct signer *signer = signer_of("");
	struct err err;
	struct sent sent;
	size_t bytes = JUPYTER_TEXT_BYTES;
	char *text = malloc(bytes), id[JUPYTER_ID_BYTES + 1] = {0};
	put(&sent, signer, "m1");
	memset(text, ' ', bytes);
	memcpy(text, "{}", 2);
	sent.frames[6] = (struct signed_part){text, bytes};
	CHECK(reading(&sent, signer, N_FRAMES, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	memset(text, '[', bytes);
	sent.frames[6] = (struct signed_part){text, bytes / 2};
	CHECK(reading(&sent, signer, N_FRAMES, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	sent.frames[6] = (struct signed_part){"{\"code\":\"6 * 7\"}", 16};
	sent.frames[0] = (struct signed_part){id, sizeof id};
	CHECK(reading(&sent, signer, N_FRAMES, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	free(text);
	jupyter_text_done(&sent.text);
	signer_free(signer);
}
