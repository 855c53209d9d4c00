export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogThreshold = (typeof LOG_LEVELS)[number];
