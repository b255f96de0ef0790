/* Names of images. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"
#include "base/err.h"

#include <stdbool.h>

enum {
	IMAGE_HOST_BYTES = 256,
	IMAGE_PATH_BYTES = 256,
	IMAGE_TAG_BYTES = 129,
	/* a whole name: host, path, and a tag or digest */
	IMAGE_NAME_BYTES = IMAGE_HOST_BYTES + IMAGE_PATH_BYTES + IMAGE_TAG_BYTES + 16
};

/* A name, taken to pieces: "python:3.12" has the host "docker.io", the path "library/python" and
 * the tag "3.12". */
struct image_ref {
	char host[IMAGE_HOST_BYTES]; /* of the registry, with its port if it has one */
	char path[IMAGE_PATH_BYTES];
	char tag[IMAGE_TAG_BYTES]; /* "" if it is named by its digest */
	char digest[DIGEST_BYTES]; /* SHA-256 of the manifest; "" if it is named by a tag */
};

/*
 * Take a name to pieces: [HOST[:PORT]/]PATH[:TAG][@sha256:DIGEST]. The first part is a host if it
 * has a '.' or ':', or is "localhost". If there is a digest, the tag is dropped. No tag: "latest".
 * Source: distribution/reference, reference.go. Errors: ERR_USAGE with a hint.
 */
int image_ref_parse(struct image_ref *out, const char *text, struct err *err);

/* Write the name in full: "docker.io/library/python:3.12". Two names of one image are the same. */
void image_ref_name(const struct image_ref *ref, char out[IMAGE_NAME_BYTES]);
/* Return the name as people write it: without the host docker.io, and without "library/" there. It
 * is a part of @name, which image_ref_name() has written. */
const char *image_ref_short(const char *name);

/* Return whether HOST[:PORT] is on this host: then it may be asked without TLS. */
bool image_host_is_local(const char *host);
