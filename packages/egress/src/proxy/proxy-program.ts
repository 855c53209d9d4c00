/** The egress proxy: a process of its own, started by the launcher, off palyrad's loop and without its memory. */
import { createSystemResolver } from './resolve-name.ts';
import { runProxy } from './run-proxy.ts';

runProxy({ resolve: createSystemResolver() });
