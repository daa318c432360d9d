// Runs SQL statements in DuckDB: a JSON array of them on standard input, on
// standard output a JSON array of {columns, types, rows}. DUCKDB_NODE is the
// folder that npm installed @duckdb/node-api into.
const path = require('node:path')
const fs = require('node:fs')
const { createRequire } = require('node:module')
const { DuckDBInstance } = createRequire(path.join(process.env.DUCKDB_NODE, 'x.js'))('@duckdb/node-api')

async function main() {
  const statements = JSON.parse(fs.readFileSync(0, 'utf8'))
  const db = await (await DuckDBInstance.create(':memory:')).connect()
  const results = []
  for (const sql of statements) {
    try {
      const r = await db.runAndReadAll(sql)
      results.push({ columns: r.columnNames(), types: r.columnTypes().map(String), rows: r.getRowsJson() })
    } catch (e) {
      throw new Error(`${e.message}\nin ${sql}`)
    }
  }
  process.stdout.write(JSON.stringify(results))
}

main().catch((e) => { console.error(e.message); process.exit(1) })
