/* Files that an agent gets as variables: `--context`. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

#include <jansson.h>

/* The directory of these files in the box. */
#define AGENT_CONTEXT_DIR "/context/"

/*
 * Read FILE or NAME=FILE of each item; one without a name is called "context". What is before the
 * first "=" is a name when it could be one: ./a=b is a file.
 *
 * @create: what a session is made with: it gets a volume for each.
 * Owns:    *@out, the "context" of agent.run, is the caller's; NULL when there is none.
 * Errors:  ERR_USAGE: a name is none or there twice, or it is no regular file; ERR_ACCESS,
 *          ERR_NOT_FOUND, ERR_LIMIT, ERR_NO_MEMORY.
 */
int agent_context_add(const struct opt_list *items, json_t *create, json_t **out, struct err *err);
