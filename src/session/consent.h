/* Questions whether programs of a session may connect to a host. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include <stdint.h>

struct session;

/* Have a person asked whether programs may connect to @port of @host. */
void consent_ask(struct session *s, const char *host, uint16_t port);
/* The code of the step runs: questions that wait already pause its wall clock from now on. */
void consent_begin(struct session *s);
/* Withdraw the questions that wait. The connections go on waiting. */
void consent_withdraw(struct session *s);
/* Withdraw the questions of which rules decide now. */
void consent_recheck(struct session *s);
/* Withdraw all, and have the gateway forget the answers and refuse what waits: a step begins, or is
 * over. */
void consent_forget(struct session *s);
