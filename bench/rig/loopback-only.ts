import net from 'node:net'

/**
 * Preloaded into Portkey, which listens on all of a machine's addresses and has no switch for that: nothing of the
 * bench is to be reached from outside.
 */
const listen = net.Server.prototype.listen

net.Server.prototype.listen = function (this: net.Server, ...args: unknown[]): net.Server {
  const [port] = args
  const callback = args.findLast(each => typeof each === 'function')
  const loopback = typeof port === 'number' ? [port, '127.0.0.1', ...(callback ? [callback] : [])] : args
  return Reflect.apply(listen, this, loopback)
}
