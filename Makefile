# The targets of document 001. What they do is in package.json.
.PHONY: build test lint fmt clean install all

build: node_modules
	npm run build

test: node_modules
	npm test

lint: node_modules
	npm run lint

fmt: node_modules
	npm run format

clean:
	npm run clean

install: node_modules
	npm run install:global

all: node_modules
	npm run all

node_modules: package-lock.json
	npm ci
	touch node_modules
