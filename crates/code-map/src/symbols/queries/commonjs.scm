; Modules of CommonJS, and methods given to prototypes

(assignment_expression
  left: (member_expression
    object: [
      (identifier) @_exports
      (member_expression
        object: (identifier) @_module (#eq? @_module "module")
        property: (property_identifier) @_exports)
    ]
    property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]
  (#eq? @_exports "exports")) @definition.function

(assignment_expression
  left: (member_expression
    object: [
      (identifier) @_exports
      (member_expression
        object: (identifier) @_module (#eq? @_module "module")
        property: (property_identifier) @_exports)
    ]
    property: (property_identifier) @name)
  right: (class)
  (#eq? @_exports "exports")) @definition.class

(assignment_expression
  left: (member_expression
    object: [
      (identifier) @_exports
      (member_expression
        object: (identifier) @_module (#eq? @_module "module")
        property: (property_identifier) @_exports)
    ]
    property: (property_identifier) @name)
  right: [(object) (array) (call_expression) (new_expression) (string) (number)]
  (#eq? @_exports "exports")) @definition.constant

(assignment_expression
  left: (member_expression
    object: (identifier) @_module (#eq? @_module "module")
    property: (property_identifier) @_exports (#eq? @_exports "exports"))
  right: [
    (function_expression name: (identifier) @name)
    (generator_function name: (identifier) @name)
  ]) @definition.function

(assignment_expression
  left: (member_expression
    object: (identifier) @_module (#eq? @_module "module")
    property: (property_identifier) @_exports (#eq? @_exports "exports"))
  right: (class name: (identifier) @name)) @definition.class

(assignment_expression
  left: (member_expression
    object: (identifier) @_module (#eq? @_module "module")
    property: (property_identifier) @_exports (#eq? @_exports "exports"))
  right: (object
    [
      (method_definition name: (property_identifier) @name)
      (pair
        key: (property_identifier) @name
        value: [(arrow_function) (function_expression) (generator_function)])
    ] @definition.function))

(assignment_expression
  left: (member_expression
    object: (identifier) @_module (#eq? @_module "module")
    property: (property_identifier) @_exports (#eq? @_exports "exports"))
  right: [
    (identifier) @exported
    (object (shorthand_property_identifier) @exported)
  ])

(assignment_expression
  left: (member_expression
    object: (member_expression
      object: (identifier) @owner
      property: (property_identifier) @_prototype (#eq? @_prototype "prototype"))
    property: (property_identifier) @name)
  right: (function_expression)) @definition.method

; References

(variable_declarator
  name: [
    (identifier) @name
    (object_pattern (shorthand_property_identifier_pattern) @name)
  ]
  value: (call_expression function: (identifier) @_require (#eq? @_require "require"))) @reference.import
