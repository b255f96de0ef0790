/* Messages of Jupyter: frames, signature and JSON. Without effects. Source: the page "Messaging in
 * Jupyter" of jupyter_client, version 5.3. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "serve/jupyter/signature.h"

#include <jansson.h>

/*
 * A message is a list of frames: identities (where the answer goes), the frame "<IDS|MSG>", the
 * signature, the four signed parts, and buffers of bytes, which we do not use.
 *
 * JUPYTER_TEXT_BYTES: maximum of the four signed parts together. JUPYTER_VALUES: maximum of the
 * JSON values in them. JUPYTER_ID_BYTES: maximum of one identity.
 */
enum {
	JUPYTER_IDS = 8,
	JUPYTER_ID_BYTES = 256,
	JUPYTER_BUFFERS = 256,
	JUPYTER_FRAMES = JUPYTER_IDS + 2 + SIGNED_PARTS + JUPYTER_BUFFERS,
	JUPYTER_TEXT_BYTES = 32 << 20,
	JUPYTER_VALUES = 200000,
	JUPYTER_NAME_BYTES = 256
};

#define JUPYTER_DELIMITER "<IDS|MSG>"
#define JUPYTER_VERSION	  "5.3"

/* Where an answer goes: the identities that came with the request. Owns: nothing. */
struct jupyter_route {
	size_t n;
	unsigned char bytes[JUPYTER_IDS]; /* the size of an identity, less one */
	char data[JUPYTER_IDS][JUPYTER_ID_BYTES];
};

/* A message that came. `type` and `id` point into the header. Owns: jupyter_done(). */
struct jupyter_message {
	struct jupyter_route route;
	json_t *header, *parent, *metadata, *content; /* objects */
	const char *type, *id;
	size_t bytes; /* of the signed parts */
	size_t n_buffers;
};

/*
 * Read a message from its frames.
 * Owns:   the caller ends *@out with jupyter_done(). The frames are not needed any more.
 * Errors: ERR_PROTOCOL: these frames are not a message; ERR_AUTH: see signer_check(); ERR_LIMIT.
 * The signature is checked before any JSON is read.
 */
int jupyter_read(struct jupyter_message *out, struct signer *signer,
	const struct signed_part *frames, size_t n_frames, struct err *err);
void jupyter_done(struct jupyter_message *m);
/* The same for messages that are not signed, since another wire has authenticated their sender:
 * from the four parts as JSON texts, or as one object of them, whose text has @bytes. The message
 * has no route. */
int jupyter_read_parts(
	struct jupyter_message *out, const struct signed_part parts[SIGNED_PARTS], struct err *err);
int jupyter_read_object(
	struct jupyter_message *out, const json_t *object, size_t bytes, struct err *err);

/* A message to send: the frames after the identities and the delimiter. Owns: jupyter_text_done().
 */
struct jupyter_text {
	char signature[SIGNATURE_BYTES + 1];
	char *parts[SIGNED_PARTS]; /* header, parent header, metadata, content; free() */
	size_t bytes[SIGNED_PARTS];
};

/* Make the header of a message to send. @id: unique; @session: names the sender; @date: ISO 8601.
 * Owns: the caller decrefs. */
json_t *jupyter_header(const char *type, const char *id, const char *session, const char *date);

/*
 * Write a message. @parent: the header of the request that this message is about, or NULL.
 * @metadata: NULL: empty.
 * Errors: ERR_NO_MEMORY.
 */
int jupyter_write(struct jupyter_text *out, const struct signer *signer,
	const json_t *const parts[SIGNED_PARTS], struct err *err);
void jupyter_text_done(struct jupyter_text *text);
