/* The templates in the store of layers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "layer/layer_store.h"

enum { LAYER_NAME_BYTES = 64, LAYER_OWNER_MAX = 32 };

/* Check the name of a template: letters, digits, '-', '_' and '.', not first '.' or '-'. Errors:
 * ERR_USAGE. */
int layer_check_name(const char *name, struct err *err);

/* Read a template. Owns: the caller decrefs. Returns: NULL and @err. Errors: ERR_NOT_FOUND with a
 * hint, ERR_DAMAGED, ERR_USAGE. */
json_t *layer_store_get(
	struct layer_store *s, const char *owner, const char *name, struct err *err);
/* Read all templates of an owner, sorted by name. Damaged ones are left out. Owns: the caller
 * decrefs. */
json_t *layer_store_list(struct layer_store *s, const char *owner);
/* Remove a template. *@is_in_use: its layer is used, and goes later. Blocks: for the time of the
 * removal. Errors: ERR_NOT_FOUND, ERR_IO, ERR_ACCESS. */
int layer_store_remove(struct layer_store *s, const char *owner, const char *name, bool *is_in_use,
	struct err *err);

/* Return the name of the file of a template. */
void layer_template_file(const char *name, char out[LAYER_NAME_BYTES + 8]);
/* Check that one more template fits, unless it replaces one. Errors: ERR_QUOTA. */
int layer_check_count(struct layer_store *s, const char *owner, const char *name, struct err *err);
