/** For what is loaded by threads that start often: nothing here, or below it, takes time to load. */
export { AppError, type AppErrorOptions } from './app-error.ts';
export { bundledProgram, bundledThread } from './bundled-program.ts';
export { type Clock, systemClock } from './clock.ts';
export { entryUrl } from './entry-url.ts';
