/** The process was told something that it cannot follow. The message is for the operator and says what to change. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
