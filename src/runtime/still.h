/* Runs with a fixed seed or time: the setup that every runtime needs. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "runtime/runtime.h"

enum { STILL_SESSION_BYTES = 20 };

/* What the clock shows first when only a seed was given: 2000-01-01T00:00:00Z. */
#define STILL_START_NS INT64_C(946684800000000000)

/*
 * For a request with a seed or a time: bind the library that replaces random numbers and clocks
 * (drivers/still), put it and its settings into the environment, before the variables of the
 * caller and the runtime, and, with a seed, ask for fixed addresses. Otherwise do nothing.
 * Errors: ERR_BOX when it is not installed, ERR_LIMIT, ERR_NO_MEMORY.
 */
int still_add(const struct runtime_request *req, struct runtime_start *out, struct err *err);

/*
 * The session's name as programs of the box see it. The real one is random, so with a seed the
 * box sees a name of the same form that is made from the seed.
 */
void still_session(const struct runtime_request *req, char out[STILL_SESSION_BYTES]);
