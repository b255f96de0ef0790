/* The server's side of an exchange. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gateway/process/exchange.h"

/* Send the request on. Its response, or its failure, wakes the exchange. If the body has to be
 * collected, it is sent by ask_collected(), when the body is complete. */
void ask_begin(struct exchange *x);
void ask_collected(struct exchange *x);
/* Called each second: pass on what was held back, because it may be the beginning of a value, if
 * nothing has followed for more than a second. */
void ask_tick(struct exchange *x);
/* The program has taken some of x->down, or given more to x->up. */
void ask_go_on(struct exchange *x);
/* Return whether the rules still allow what the request was sent to. */
bool ask_is_allowed(const struct exchange *x);
/* Add the bytes since the last call to the row of the host. */
void ask_count(struct exchange *x);
/* End what is under way. */
void ask_end(struct exchange *x);
/* Use new connections to servers from now on. */
void ask_renew(struct net_box *b);
