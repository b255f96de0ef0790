/* The option --context: files that the agent gets as variables. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

#include <jansson.h>

/* Directory in the box that contains the files. */
#define AGENT_CONTEXT_DIR "/context/"

/*
 * Read the items of --context. An item is NAME=FILE or FILE; without NAME, the variable is called
 * "context". If the text before the first "=" is not a valid name, the whole item is FILE, as in
 * "./a=b".
 *
 * @create: the parameters of session.create. A volume is added to them for each file.
 * @out: gets the parameter "context" of agent.run, or NULL if there are no items.
 * Owns: the caller decrefs *@out.
 * Errors: ERR_USAGE: a name is used twice, the file is not a regular file, or its name is not
 * UTF-8; ERR_ACCESS, ERR_NOT_FOUND, ERR_NO_MEMORY.
 */
int agent_context_add(const struct opt_list *items, json_t *create, json_t **out, struct err *err);
