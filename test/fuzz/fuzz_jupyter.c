/* What a client of a kernel sends: frames, a message, and the connection file. Whatever comes, a
 * message that is read is one that can be written, and nothing without a signature is read.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/json.h"
#include "serve/jupyter/cell_log.h"
#include "serve/jupyter/connection_file.h"
#include "serve/jupyter/message.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 40 };

static void check_message(const struct jupyter_message *m, struct signer *signer)
{
	struct jupyter_text text;
	struct err err;
	const json_t *const parts[SIGNED_PARTS] = {m->header, m->parent, m->metadata, m->content};
	MUST(m->route.n <= JUPYTER_IDS);
	MUST(m->bytes <= JUPYTER_TEXT_BYTES);
	MUST(json_is_object(m->header) && json_is_object(m->content));
	MUST(strlen(m->type) > 0 && strlen(m->type) <= JUPYTER_NAME_BYTES);
	MUST(strlen(m->id) > 0 && strlen(m->id) <= JUPYTER_NAME_BYTES);
	MUST(jupyter_write(&text, signer, parts, &err) == 0);
	jupyter_text_done(&text);
}

/* Frames are separated by a NUL. */
static void read_frames(struct signed_part *frames, size_t n, const char *key)
{
	struct signer *signer;
	struct jupyter_message m;
	struct err err;
	MUST(signer_new(&signer, key, &err) == 0);
	int r = jupyter_read(&m, signer, frames, n, &err);
	MUST(r == 0 || err.msg[0]);
	MUST(r < 0 || !key[0]); /* nobody finds a signature by chance */
	if (r == 0) {
		cleanup_json json_t *history =
			cell_log_answer(&(struct cell_log){.n = 0}, m.content);
		MUST(json_array_size(json_object_get(history, "history")) == 0);
		check_message(&m, signer);
		jupyter_done(&m);
	}
	signer_free(signer);
}

static void check_file(const char *data, size_t bytes)
{
	struct connection_file file;
	struct err err;
	if (connection_file_parse(&file, data, bytes, &err) < 0) {
		MUST(err.code == ERR_USAGE && err.msg[0]);
		return;
	}
	for (int i = 0; i < JUPYTER_CHANNELS; i++) {
		size_t n = strlen(file.places[i]);
		MUST(n > strlen("tcp://:1") - 1 && n < CONNECTION_PLACE_BYTES);
		MUST(strncmp(file.places[i], file.is_ipc ? "ipc://" : "tcp://", 6) == 0);
	}
}

/* A pattern and a text, against what a recursion says. */
static bool is_like(const char *pattern, const char *text)
{
	if (*pattern == '*')
		return is_like(pattern + 1, text) || (*text && is_like(pattern, text + 1));
	if (!*text || !*pattern)
		return *pattern == *text;
	return (*pattern == '?' || *pattern == *text) && is_like(pattern + 1, text + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct signed_part frames[FRAMES_MAX];
	const uint8_t *part;
	size_t n = 0;
	check_file((const char *)data, bytes);
	while (bytes > 0 && n < FRAMES_MAX) {
		size_t n_part = fuzz_part(&data, &bytes, &part);
		frames[n++] = (struct signed_part){part, n_part};
	}
	read_frames(frames, n, "");
	read_frames(frames, n, "key");
	if (n >= 2 && frames[0].bytes < 12 && frames[1].bytes < 12) {
		char *pattern = fuzz_text(frames[0].data, frames[0].bytes);
		char *text = fuzz_text(frames[1].data, frames[1].bytes);
		MUST(cell_log_is_like(pattern, text) == is_like(pattern, text));
		free(pattern);
		free(text);
	}
	return 0;
}
