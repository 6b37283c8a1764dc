/** Parsers of server-sent events skip comments (WHATWG HTML), so one shows life and says nothing. */
export const COMMENT: Uint8Array = Buffer.from(': keep-alive\n\n')
