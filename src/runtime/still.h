/* Runs with a seed or a time: what every runtime needs for them. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include "runtime/runtime.h"

enum { STILL_SESSION_BYTES = 20 };

/* What the clock shows first when only a seed was given: 2000-01-01T00:00:00Z. */
#define STILL_START_NS INT64_C(946684800000000000)

/*
 * For a request with a seed or a time: bind the library that stands in for chance and time
 * (drivers/still), put it and its orders into the environment, before what the caller or the
 * runtime adds there, and, with a seed, ask for fixed addresses. Else nothing.
 * Errors: ERR_BOX when it is not installed, ERR_LIMIT, ERR_NO_MEMORY.
 */
int still_add(const struct runtime_request *req, struct runtime_start *out, struct err *err);

/*
 * The session's name as programs of the box see it. The real one is chance, so with a seed there is
 * another of the same form, made from the seed.
 */
void still_session(const struct runtime_request *req, char out[STILL_SESSION_BYTES]);
