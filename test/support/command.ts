import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'

const COMMAND = path.resolve(import.meta.dirname, '../../bin/tollgate')

export interface CommandResult {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs `tollgate <args>` as a person would, in a shell of its own. */
export async function runCommand(
  args: readonly string[],
  environment: Record<string, string>,
  { cwd, input }: { cwd?: string; input?: string } = {},
): Promise<CommandResult> {
  const child = spawn(COMMAND, args, {
    ...(cwd && { cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
  })
  // One that ends without reading what it was given is no fault of the test.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: code as number | null, output, errors }
}
