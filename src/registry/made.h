/* An order of no template: a fresh session's own, and its branches'. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "registry/order_text.h"

struct made {
	unsigned n_refs;
	struct order_kept kept;
	struct order_checked order;
};
