/* SPDX-License-Identifier: Apache-2.0 */
#include "api/once/once_image.h"

#include "image/image_store.h"

json_t *once_image(const char *dir, const char *name, struct err *err)
{
	struct layer_store *store = NULL;
	if (!dir) {
		(void)err_fail(err, ERR_NOT_FOUND, "set HOME or XDG_STATE_HOME",
			"there is no place for images");
		return NULL;
	}
	json_t *about =
		layer_store_open(&store, dir, err) < 0 ? NULL : image_store_get(store, name, err);
	layer_store_close(store);
	return about;
}
