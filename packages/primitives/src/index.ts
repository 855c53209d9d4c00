export { AppError, type AppErrorOptions } from './app-error.ts';
export { type Clock, systemClock } from './clock.ts';
export { entryUrl } from './entry-url.ts';
